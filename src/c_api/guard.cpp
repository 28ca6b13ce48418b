// SPDX-License-Identifier: Apache-2.0
#include "src/c_api/guard.hpp"

#include <exception>
#include <new>
#include <string>

#include <sinew/sgd/gradient_buckets.hpp>
#include <sinew/version.hpp>

#include "src/base/waiting/interruption.hpp"

namespace sinew::c_api {

namespace {

struct LastError {
    std::string words;
    int code = 0;
};

LastError& last_error() {
    thread_local LastError error;
    return error;
}

int keep(int status, char const* words, int code = 0) noexcept {
    LastError& last = last_error();
    last.code = code;
    try {
        last.words = words;
    } catch (std::bad_alloc const&) {
        last.words.clear();
    }
    return status;
}

}  // namespace

int status_of_exception() noexcept {
    try {
        throw;
    } catch (UsageError const& error) {
        return keep(SINEW_ERROR_USAGE, error.what());
    } catch (Unavailable const& error) {
        return keep(SINEW_ERROR_UNAVAILABLE, error.what());
    } catch (Timeout const& error) {
        return keep(SINEW_ERROR_TIMEOUT, error.what());
    } catch (PeerLost const& error) {
        return keep(SINEW_ERROR_PEER_LOST, error.what());
    } catch (SystemError const& error) {
        return keep(SINEW_ERROR_SYSTEM, error.what(), error.error_number());
    } catch (BackendError const& error) {
        return keep(SINEW_ERROR_BACKEND, error.what(), error.code());
    } catch (CallbackFailed const& error) {
        return keep(SINEW_ERROR_CALLBACK, error.what(), error.code());
    } catch (Interrupted const& error) {
        return keep(SINEW_ERROR_INTERRUPTED, error.what());
    } catch (TaskFailed const& error) {
        return keep(SINEW_ERROR_TASK, error.what(), error.why());
    } catch (NonFiniteGradient const& error) {
        return keep(SINEW_ERROR_NOT_FINITE, error.what(), static_cast<int>(error.tensor()));
    } catch (std::bad_alloc const&) {
        return keep(SINEW_ERROR_MEMORY, "there is not enough memory");
    } catch (std::exception const& error) {
        return keep(SINEW_ERROR_OTHER, error.what());
    } catch (...) {
        return keep(SINEW_ERROR_OTHER, "an exception that is not a std::exception");
    }
}

}  // namespace sinew::c_api

using namespace sinew::c_api;

char const* sinew_last_error(void) { return last_error().words.c_str(); }

int sinew_last_error_code(void) { return last_error().code; }

char const* sinew_status_name(int status) {
    constexpr char const* names[] = {
        "ok",     "usage",    "unavailable", "timeout", "peer lost",  "system", "backend",
        "memory", "callback", "interrupted", "other",   "not finite", "task"};
    constexpr int count = sizeof names / sizeof names[0];
    return status >= 0 && status < count ? names[status] : "unknown";
}

char const* sinew_version(void) { return sinew::version().data(); }

int sinew_set_interrupt_check(int (*check)(void*), void* context) {
    return guarded([&] { sinew::set_interrupt_check(check, context); });
}
