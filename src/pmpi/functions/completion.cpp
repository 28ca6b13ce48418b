// SPDX-License-Identifier: Apache-2.0
// The functions that wait for requests. They complete those of ours whose calls have ended, and let MPI
// do the rest. Without such requests they cost one look at a counter.
#include <algorithm>
#include <thread>

#include "src/pmpi/functions/interpose.hpp"
#include "src/pmpi/mpi_waiter.hpp"
#include "src/pmpi/real.hpp"
#include "src/pmpi/requests/own_request.hpp"

namespace sinew::pmpi {

namespace {

/// Calls `f(OwnRequest&)` for those of ours.
template <class F>
void for_own(int count, MPI_Request const* requests, F const& f) {
    if (!OwnRequest::any() || requests == nullptr) return;
    for (int i = 0; i < count; ++i)
        if (OwnRequest* const own = OwnRequest::find(requests[i])) f(*own);
}

void complete_all(int count, MPI_Request const* requests) {
    for_own(count, requests, [](OwnRequest& own) { own.complete(); });
}

void complete_ended(int count, MPI_Request const* requests) {
    for_own(count, requests, [](OwnRequest& own) { own.try_complete(); });
}

/// Waits until `test`, which returns what MPI's function for one look does, has found something. Calls
/// `wait`, the function that waits, if none of the requests is ours.
template <class Test, class Wait>
int await_some(int count, MPI_Request const* requests, Test const& test, Wait const& wait) {
    OwnRequest* pending = nullptr;  // one that is not complete
    auto const look = [&] {
        pending = nullptr;
        for_own(count, requests, [&](OwnRequest& own) {
            if (!own.try_complete() && pending == nullptr) pending = &own;
        });
    };
    look();
    if (pending == nullptr) return wait();
    MpiWaiter waiter(pending->queue().route());
    for (int round = 0;; ++round) {
        bool found = false;
        int const code = test(found);
        if (found || code != MPI_SUCCESS) return code;
        try {
            constexpr std::chrono::nanoseconds longest = std::chrono::microseconds(50);
            auto const pause = waiter.idle(round, pending->queue().awaited_rank());
            if (pause.count() > 0) std::this_thread::sleep_for(std::min(pause, longest));
        } catch (std::exception const& error) {
            pending->fail(error);
        }
        look();
        if (pending == nullptr) return wait();
    }
}

}  // namespace

}  // namespace sinew::pmpi

using namespace sinew::pmpi;

extern "C" int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    complete_all(1, request);
    return real().Wait(request, status);
}
SINEW_ALSO_AS_PMPI(Wait)

extern "C" int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    complete_all(count, requests);
    return real().Waitall(count, requests, statuses);
}
SINEW_ALSO_AS_PMPI(Waitall)

extern "C" int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    return await_some(
        count, requests,
        [&](bool& found) {
            int flag = 0;
            int const code = real().Testany(count, requests, index, &flag, status);
            found = flag != 0;
            return code;
        },
        [&] { return real().Waitany(count, requests, index, status); });
}
SINEW_ALSO_AS_PMPI(Waitany)

extern "C" int MPI_Waitsome(int count, MPI_Request* requests, int* done, int* indices,
                            MPI_Status* statuses) {
    return await_some(
        count, requests,
        [&](bool& found) {
            int const code = real().Testsome(count, requests, done, indices, statuses);
            found = code != MPI_SUCCESS || *done != 0;
            return code;
        },
        [&] { return real().Waitsome(count, requests, done, indices, statuses); });
}
SINEW_ALSO_AS_PMPI(Waitsome)

extern "C" int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    complete_ended(1, request);
    return real().Test(request, flag, status);
}
SINEW_ALSO_AS_PMPI(Test)

extern "C" int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    complete_ended(count, requests);
    return real().Testall(count, requests, flag, statuses);
}
SINEW_ALSO_AS_PMPI(Testall)

extern "C" int MPI_Testany(int count, MPI_Request* requests, int* index, int* flag,
                           MPI_Status* status) {
    complete_ended(count, requests);
    return real().Testany(count, requests, index, flag, status);
}
SINEW_ALSO_AS_PMPI(Testany)

extern "C" int MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices,
                            MPI_Status* statuses) {
    complete_ended(count, requests);
    return real().Testsome(count, requests, done, indices, statuses);
}
SINEW_ALSO_AS_PMPI(Testsome)

extern "C" int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    complete_ended(1, &request);
    return real().Request_get_status(request, flag, status);
}
SINEW_ALSO_AS_PMPI(Request_get_status)
