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
bool wait_in_pieces(sinew_request& waited, Clock::time_point until) {
    for (;;) {
        auto const now = Clock::now();
        if (now >= until) return waited.request.test(&waited.received);
        std::chrono::nanoseconds const piece = interrupt_check_interval;
        if (waited.request.wait_for(std::min<std::chrono::nanoseconds>(piece, until - now),
                                    &waited.received))
            return true;
        if (interrupted())
            throw Interrupted(
                "the wait for a request was interrupted by its program. The operation continues");
    }
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
