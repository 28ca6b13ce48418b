// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/requests/persistent_request.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include <sinew/error.hpp>

#include "src/pmpi/collective_call.hpp"
#include "src/pmpi/real.hpp"
#include "src/pmpi/requests/background_queue.hpp"
#include "src/pmpi/requests/posting_queue.hpp"

namespace sinew::pmpi {

namespace {

/// Requests that were freed while they were active, until their calls have ended.
struct Freed {
    std::mutex mutex;
    std::vector<std::unique_ptr<PersistentRequest>> requests;

    void destroy_ended() {
        std::lock_guard const lock(mutex);
        std::erase_if(requests, [](auto& request) { return request->try_complete(); });
    }
};
/// Never destroyed: MPI may end before the calls do.
Freed& freed() {
    static Freed& all = *new Freed;
    return all;
}

void require_taken(CallOutcome outcome) {
    if (outcome != CallOutcome::taken)
        throw BackendError("its arguments are not those of its initialization", 0);
}

}  // namespace

PersistentRequest::PersistentRequest(MpiFunction function, MPI_Comm comm,
                                     std::unique_ptr<CommRoute> route,
                                     std::unique_ptr<KeptCollective> collective)
    : OwnRequest(route->background ? static_cast<CallQueue&>(*route->background) : *route->posted),
      function_(function), comm_(comm), route_(std::move(route)),
      collective_(std::move(collective)) {}

int PersistentRequest::make(MpiFunction function, MPI_Comm comm, std::unique_ptr<CommRoute> route,
                            std::unique_ptr<KeptCollective> collective, MPI_Request* request) {
    freed().destroy_ended();
    std::unique_ptr<PersistentRequest> own(
        new PersistentRequest(function, comm, std::move(route), std::move(collective)));
    // Not to MPI_PROC_NULL: MPICH 4.0 then does not complete persistent collectives that it makes later.
    constexpr int unused_tag = 0, self = 0;
    MPI_Request handle{};
    int const code =
        real().Send_init(nullptr, 0, MPI_BYTE, self, unused_tag, MPI_COMM_SELF, &handle);
    if (code != MPI_SUCCESS) return code;
    own.release()->enter(handle);  // until free()
    *request = handle;
    return MPI_SUCCESS;
}

int PersistentRequest::start() {
    if (active_) {
        real().Comm_call_errhandler(route_->reachable(comm_), MPI_ERR_REQUEST);
        return MPI_ERR_REQUEST;
    }
    try {
        route_->require_not_lost();
        if (route_->background) start_in_background();
        else start_short();
        route_->job->statistics().count(function_, CallOutcome::taken);
        active_ = true;
        return MPI_SUCCESS;
    } catch (std::exception const& error) {
        return pmpi::fail(function_, comm_, *route_, error);
    }
}

void PersistentRequest::start_short() {
    NonBlockingCall call(*route_, function_, comm_);
    require_taken(collective_->post(call));
    post(*route_->posted, call.posted, call.message);
}

void PersistentRequest::start_in_background() {
    auto const call = std::make_shared<BackgroundCollective>(function_, comm_);
    CollectiveCall preparing{.route = *route_, .comm = comm_, .later = call.get()};
    require_taken(collective_->run(preparing));
    post(*route_->background, call);
}

int PersistentRequest::retire() {
    if (!std::exchange(active_, false)) return MPI_SUCCESS;
    return has_failed() ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int PersistentRequest::free(PersistentRequest& request, MPI_Request* handle) {
    freed().destroy_ended();
    std::unique_ptr<PersistentRequest> own(&request);
    own->leave();
    int const code = real().Request_free(handle);
    if (own->try_complete()) return code;
    own->queue().nobody_looks_after();
    std::lock_guard const lock(freed().mutex);
    freed().requests.push_back(std::move(own));
    return code;
}

}  // namespace sinew::pmpi
