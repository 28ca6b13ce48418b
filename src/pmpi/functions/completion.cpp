// SPDX-License-Identifier: Apache-2.0
// The functions that start, wait for and free requests. They complete those of ours whose calls have ended,
// and let MPI do the rest. Without such requests they cost one look at a counter.
#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "src/pmpi/functions/interpose.hpp"
#include "src/pmpi/mpi_waiter.hpp"
#include "src/pmpi/real.hpp"
#include "src/pmpi/requests/own_request.hpp"
#include "src/pmpi/requests/persistent_request.hpp"

namespace sinew::pmpi {

namespace {

/// Calls `f(OwnRequest&)` for those of ours.
template <class F>
void for_own(int count, MPI_Request const* requests, F const& f) {
    if (!OwnRequest::any() || requests == nullptr) return;
    for (int i = 0; i < count; ++i)
        if (OwnRequest* const own = OwnRequest::find(requests[i])) f(*own);
}

OwnRequest* find(MPI_Request const* request) {
    return OwnRequest::any() && request != nullptr ? OwnRequest::find(*request) : nullptr;
}

PersistentRequest* find_persistent(MPI_Request request) {
    OwnRequest* const own = find(&request);
    return own == nullptr ? nullptr : own->persistent();
}

/// Completes those whose calls have ended. Returns whether a persistent one has not: MPI, which has that
/// inactive, does not know it.
bool some_go_on(int count, MPI_Request const* requests) {
    bool found = false;
    for_own(count, requests, [&](OwnRequest& own) {
        if (!own.try_complete() && own.persistent() != nullptr) found = true;
    });
    return found;
}

// What MPI has reported becomes known to persistent requests of ours. They return MPI's code or, if it is
// MPI_SUCCESS, that of a call that has failed.

/// Of one request.
int retire(int code, MPI_Request const& request) {
    PersistentRequest* const own = find_persistent(request);
    int const failure = own == nullptr ? MPI_SUCCESS : own->retire();
    return code == MPI_SUCCESS ? failure : code;
}

/// Of `done` ones; `request_of(i)` has the status i.
template <class RequestOf>
int retire_some(int code, int done, MPI_Status* statuses, RequestOf const& request_of) {
    if (!OwnRequest::any() || (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)) return code;
    for (int i = 0; i < done; ++i) {
        PersistentRequest* const own = find_persistent(request_of(i));
        if (own == nullptr || own->retire() == MPI_SUCCESS) continue;
        bool const has_statuses = statuses != MPI_STATUSES_IGNORE;
        for (int j = 0; has_statuses && code == MPI_SUCCESS && j < done; ++j)
            statuses[j].MPI_ERROR = MPI_SUCCESS;
        if (has_statuses) statuses[i].MPI_ERROR = MPI_ERR_OTHER;
        code = MPI_ERR_IN_STATUS;
    }
    return code;
}

/// The first persistent one from `first` on that is active and complete, which MPI has inactive; -1 if
/// there is none.
int find_complete(int count, MPI_Request const* requests, int first = 0) {
    if (!OwnRequest::any() || requests == nullptr) return -1;
    for (int i = first; i < count; ++i) {
        PersistentRequest* const own = find_persistent(requests[i]);
        if (own != nullptr && own->active() && own->try_complete()) return i;
    }
    return -1;
}

/// Reports a persistent request of ours that is complete or not started. MPI gives the empty status of an
/// inactive one. (Its MPI_Test: MPI_Wait of MPICH 4.0 waits for what is inactive.)
int report_complete(MPI_Request* request, MPI_Status* status) {
    int flag = 0;
    return retire(real().Test(request, &flag, status), *request);
}

/// Reports that a request is not complete. Programs that test in a loop rely on MPI's progress.
int report_none(int* flag) {
    if (MpiJob* const job = MpiJob::current()) job->progress();
    *flag = 0;
    return MPI_SUCCESS;
}

/// MPI_Testany.
int test_any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    bool const go_on = some_go_on(count, requests);
    if (int const found = find_complete(count, requests); found >= 0) {
        *index = found;
        *flag = 1;
        return report_complete(&requests[found], status);
    }
    int const code = real().Testany(count, requests, index, flag, status);
    if (go_on && *flag != 0 && *index == MPI_UNDEFINED) *flag = 0;  // MPI knows of no active one
    return code;
}

/// MPI_Testsome. What MPI has found comes first, then what is ours.
int test_some(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
    bool const go_on = some_go_on(count, requests);
    int code = real().Testsome(count, requests, done, indices, statuses);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return code;
    bool const none = *done == MPI_UNDEFINED;
    int found = none ? 0 : *done;
    bool const has_statuses = statuses != MPI_STATUSES_IGNORE;
    for (int i = 0; (i = find_complete(count, requests, i)) >= 0; ++i, ++found) {
        MPI_Status* const status = has_statuses ? &statuses[found] : MPI_STATUS_IGNORE;
        int const own = report_complete(&requests[i], status);
        for (int j = 0; has_statuses && code == MPI_SUCCESS && own != MPI_SUCCESS && j < found; ++j)
            statuses[j].MPI_ERROR = MPI_SUCCESS;
        if (own != MPI_SUCCESS) code = MPI_ERR_IN_STATUS;
        if (has_statuses && code != MPI_SUCCESS) status->MPI_ERROR = own;
        indices[found] = i;
    }
    if (!none || found > 0 || go_on) *done = found;
    return code;
}

/// Waits until `test`, which returns what the function for one look does, has found something. Calls
/// `wait`, MPI's function that waits, when it knows all that are active.
template <class Test, class Wait>
int await_some(int count, MPI_Request const* requests, Test const& test, Wait const& wait) {
    std::optional<MpiWaiter> waiter;
    for (int round = 0;; ++round) {
        OwnRequest* pending = nullptr;  // one that is not complete
        bool complete = false;          // a persistent one is, which MPI has inactive
        for_own(count, requests, [&](OwnRequest& own) {
            PersistentRequest* const persistent = own.persistent();
            if (!own.try_complete()) pending = &own;
            else if (persistent != nullptr && persistent->active()) complete = true;
        });
        if (pending == nullptr && !complete) return wait();
        bool found = false;
        int const code = test(found);
        if (found || code != MPI_SUCCESS) return code;
        if (pending == nullptr) continue;
        if (!waiter) waiter.emplace(pending->queue().route());
        try {
            constexpr std::chrono::nanoseconds longest = std::chrono::microseconds(50);
            auto const pause = waiter->idle(round, pending->queue().awaited_rank());
            if (pause.count() > 0) std::this_thread::sleep_for(std::min(pause, longest));
        } catch (std::exception const& error) {
            pending->fail(error);
        }
    }
}

int start_all(int count, MPI_Request* requests) {
    if (!OwnRequest::any() || requests == nullptr) return real().Startall(count, requests);
    std::vector<MPI_Request> others;  // of MPI, which may replace the handles
    std::vector<int> places;
    for (int i = 0; i < count; ++i) {
        if (find_persistent(requests[i]) != nullptr) continue;
        others.push_back(requests[i]);
        places.push_back(i);
    }
    int code = MPI_SUCCESS;
    if (!others.empty()) {
        code = real().Startall(static_cast<int>(others.size()), others.data());
        for (std::size_t i = 0; i < others.size(); ++i) requests[places[i]] = others[i];
    }
    for (int i = 0; i < count && code == MPI_SUCCESS; ++i)
        if (PersistentRequest* const own = find_persistent(requests[i])) code = own->start();
    return code;
}

}  // namespace

}  // namespace sinew::pmpi

using namespace sinew::pmpi;

extern "C" int MPI_Start(MPI_Request* request) {
    OwnRequest* const own = find(request);
    PersistentRequest* const persistent = own == nullptr ? nullptr : own->persistent();
    return persistent == nullptr ? real().Start(request) : persistent->start();
}
SINEW_ALSO_AS_PMPI(Start)

extern "C" int MPI_Startall(int count, MPI_Request* requests) { return start_all(count, requests); }
SINEW_ALSO_AS_PMPI(Startall)

extern "C" int MPI_Request_free(MPI_Request* request) {
    OwnRequest* const own = find(request);
    PersistentRequest* const persistent = own == nullptr ? nullptr : own->persistent();
    return persistent == nullptr ? real().Request_free(request)
                                 : PersistentRequest::free(*persistent, request);
}
SINEW_ALSO_AS_PMPI(Request_free)

extern "C" int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    OwnRequest* const own = find(request);
    if (own == nullptr) return real().Wait(request, status);
    own->complete();
    return own->persistent() == nullptr ? real().Wait(request, status)
                                        : report_complete(request, status);
}
SINEW_ALSO_AS_PMPI(Wait)

extern "C" int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    for_own(count, requests, [](OwnRequest& own) { own.complete(); });
    int const code = real().Waitall(count, requests, statuses);
    return retire_some(code, count, statuses, [&](int i) { return requests[i]; });
}
SINEW_ALSO_AS_PMPI(Waitall)

extern "C" int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    return await_some(
        count, requests,
        [&](bool& found) {
            int flag = 0;
            int const code = test_any(count, requests, index, &flag, status);
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
            int const code = test_some(count, requests, done, indices, statuses);
            found = *done != 0;
            return code;
        },
        [&] { return real().Waitsome(count, requests, done, indices, statuses); });
}
SINEW_ALSO_AS_PMPI(Waitsome)

extern "C" int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    OwnRequest* const own = find(request);
    if (own == nullptr) return real().Test(request, flag, status);
    bool const complete = own->try_complete();
    if (own->persistent() == nullptr) return real().Test(request, flag, status);
    if (!complete) return report_none(flag);
    *flag = 1;
    return report_complete(request, status);
}
SINEW_ALSO_AS_PMPI(Test)

extern "C" int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    if (some_go_on(count, requests)) return report_none(flag);
    int const code = real().Testall(count, requests, flag, statuses);
    if (*flag == 0) return code;
    return retire_some(code, count, statuses, [&](int i) { return requests[i]; });
}
SINEW_ALSO_AS_PMPI(Testall)

extern "C" int MPI_Testany(int count, MPI_Request* requests, int* index, int* flag,
                           MPI_Status* status) {
    return test_any(count, requests, index, flag, status);
}
SINEW_ALSO_AS_PMPI(Testany)

extern "C" int MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices,
                            MPI_Status* statuses) {
    return test_some(count, requests, done, indices, statuses);
}
SINEW_ALSO_AS_PMPI(Testsome)

extern "C" int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    if (some_go_on(1, &request)) return report_none(flag);
    return real().Request_get_status(request, flag, status);
}
SINEW_ALSO_AS_PMPI(Request_get_status)
