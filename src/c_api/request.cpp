// SPDX-License-Identifier: Apache-2.0
// sinew_request_* and sinew_persistent_*: waiting for calls that were started.
#include <algorithm>
#include <chrono>

#include <sinew/detail/deadline.hpp>

#include "src/base/waiting/interruption.hpp"
#include "src/c_api/arguments.hpp"

using namespace sinew;
using namespace sinew::c_api;

namespace {

using Clock = std::chrono::steady_clock;

/// Waits until `until` in pieces, between which the program may interrupt. Returns whether the
/// operation has completed. Nothing is lost by an interruption: it can be waited for again. `wait_for`
/// and `test` are those of a request.
template <class WaitFor, class Test>
bool wait_in_pieces(Clock::time_point until, WaitFor const& wait_for, Test const& test) {
    for (;;) {
        auto const now = Clock::now();
        if (now >= until) return test();
        std::chrono::nanoseconds const piece = interrupt_check_interval;
        if (wait_for(std::min<std::chrono::nanoseconds>(piece, until - now))) return true;
        if (interrupted())
            throw Interrupted(
                "the wait for a request was interrupted by its program. The operation continues");
    }
}

bool wait_in_pieces(sinew_request& waited, Clock::time_point until) {
    return wait_in_pieces(
        until, [&](auto limit) { return waited.request.wait_for(limit, &waited.received); },
        [&] { return waited.request.test(&waited.received); });
}

bool wait_in_pieces(PersistentRequest& waited, Clock::time_point until) {
    return wait_in_pieces(
        until, [&](auto limit) { return waited.wait_for(limit); }, [&] { return waited.test(); });
}

/// Stores whether the operation has completed and, if so, its result.
void report(sinew_request const& request, bool completed, int* done, sinew_received* received) {
    if (done != nullptr) *done = completed ? 1 : 0;
    if (completed && received != nullptr) *received = received_of(request.received);
}

}  // namespace

int sinew_request_wait(sinew_request* request, sinew_received* received) {
    return guarded([&] {
        sinew_request& waited = required(request, "the request");
        waited.request.ready();  // from now on, the time of a message counts
        report(waited, wait_in_pieces(waited, Clock::time_point::max()), nullptr, received);
    });
}

int sinew_request_test(sinew_request* request, int* done, sinew_received* received) {
    return guarded([&] {
        required(done, "the pointer for whether it is done");
        sinew_request& tested = required(request, "the request");
        report(tested, tested.request.test(&tested.received), done, received);
    });
}

int sinew_request_wait_for(sinew_request* request, int64_t limit_ns, int* done,
                           sinew_received* received) {
    return guarded([&] {
        required(done, "the pointer for whether it is done");
        sinew_request& waited = required(request, "the request");
        auto const until = detail::deadline_after(std::chrono::nanoseconds(limit_ns));
        report(waited, wait_in_pieces(waited, until), done, received);
    });
}

int sinew_request_cancel(sinew_request* request, int* cancelled) {
    return guarded([&] {
        required(cancelled, "the pointer for whether it was cancelled");
        *cancelled = required(request, "the request").request.cancel() ? 1 : 0;
    });
}

void sinew_request_destroy(sinew_request* request) { delete request; }

int sinew_persistent_start(sinew_persistent* persistent) {
    return guarded([&] { required(persistent, "the persistent call").request.start(); });
}

int sinew_persistent_wait(sinew_persistent* persistent) {
    return guarded([&] {
        wait_in_pieces(required(persistent, "the persistent call").request,
                       Clock::time_point::max());
    });
}

int sinew_persistent_test(sinew_persistent* persistent, int* done) {
    return guarded([&] {
        required(done, "the pointer for whether it is done");
        *done = required(persistent, "the persistent call").request.test() ? 1 : 0;
    });
}

int sinew_persistent_wait_for(sinew_persistent* persistent, int64_t limit_ns, int* done) {
    return guarded([&] {
        required(done, "the pointer for whether it is done");
        PersistentRequest& waited = required(persistent, "the persistent call").request;
        auto const until = detail::deadline_after(std::chrono::nanoseconds(limit_ns));
        *done = wait_in_pieces(waited, until) ? 1 : 0;
    });
}

void sinew_persistent_destroy(sinew_persistent* persistent) { delete persistent; }
