// SPDX-License-Identifier: Apache-2.0
// sinew_request_*: waiting for non-blocking calls.
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
/// operation has completed. Nothing is lost by an interruption: the request can be waited for again.
bool wait_in_pieces(Request& request, Clock::time_point until, Received& received) {
    if (request.ready()) {  // which begins the time of a message
        received = request.wait();
        return true;
    }
    for (;;) {
        auto const now = Clock::now();
        if (now >= until) return request.test(&received);
        std::chrono::nanoseconds const piece = interrupt_check_interval;
        if (request.wait_for(std::min<std::chrono::nanoseconds>(piece, until - now), &received))
            return true;
        if (interrupted())
            throw Interrupted(
                "the wait for a request was interrupted by its program. The operation continues");
    }
}

}  // namespace

int sinew_request_wait(sinew_request* request, sinew_received* received) {
    return guarded([&] {
        Request& waited = required(request, "the request").request;
        Received result;
        if (has_interrupt_check()) wait_in_pieces(waited, Clock::time_point::max(), result);
        else result = waited.wait();
        if (received != nullptr) *received = received_of(result);
    });
}

int sinew_request_test(sinew_request* request, int* done, sinew_received* received) {
    return guarded([&] {
        required(done, "the pointer for whether it is done");
        Received result;
        *done = required(request, "the request").request.test(&result) ? 1 : 0;
        if (*done != 0 && received != nullptr) *received = received_of(result);
    });
}

int sinew_request_wait_for(sinew_request* request, int64_t limit_ns, int* done,
                           sinew_received* received) {
    return guarded([&] {
        required(done, "the pointer for whether it is done");
        Request& waited = required(request, "the request").request;
        Received result;
        *done = wait_in_pieces(waited, detail::deadline_after(std::chrono::nanoseconds(limit_ns)),
                               result)
                    ? 1
                    : 0;
        if (*done != 0 && received != nullptr) *received = received_of(result);
    });
}

int sinew_request_cancel(sinew_request* request, int* cancelled) {
    return guarded([&] {
        required(cancelled, "the pointer for whether it was cancelled");
        *cancelled = required(request, "the request").request.cancel() ? 1 : 0;
    });
}

void sinew_request_destroy(sinew_request* request) { delete request; }
