// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/pmpi/comm_route.hpp"
#include "src/pmpi/requests/kept_collective.hpp"
#include "src/pmpi/requests/own_request.hpp"

namespace sinew::pmpi {

/// The request of a persistent collective. It has a room and a queue of its own: ranks that start such
/// requests in different orders still match, and only the initializations must be in the same order.
///
/// Its handle is a persistent request of MPI, of an empty message that this rank would send to itself. It is
/// never started, so that MPI's functions pass over it, and this library reports its completion.
class PersistentRequest final : public OwnRequest {
public:
    /// Makes an inactive one and sets `*request`. Returns the code of MPI.
    static int make(MpiFunction function, MPI_Comm comm, std::unique_ptr<CommRoute> route,
                    std::unique_ptr<KeptCollective> collective, MPI_Request* request);

    PersistentRequest* persistent() override { return this; }
    /// MPI_Start: posts the call. Returns MPI_ERR_REQUEST if it is active; as pmpi::fail if it fails.
    int start();
    /// Whether it has been started, and the program has not yet learnt that it is complete.
    bool active() const { return active_; }
    /// The program has learnt that it is complete. Returns MPI_SUCCESS or, if the call has failed,
    /// MPI_ERR_OTHER.
    int retire();
    /// MPI_Request_free. Of an active one the call goes on.
    static int free(PersistentRequest& request, MPI_Request* handle);

private:
    PersistentRequest(MpiFunction function, MPI_Comm comm, std::unique_ptr<CommRoute> route,
                      std::unique_ptr<KeptCollective> collective);
    void start_short();
    void start_in_background();

    MpiFunction const function_;
    MPI_Comm const comm_;
    std::unique_ptr<CommRoute> const route_;
    std::unique_ptr<KeptCollective> const collective_;
    bool active_ = false;
};

}  // namespace sinew::pmpi
