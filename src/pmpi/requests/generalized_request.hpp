// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "src/pmpi/real.hpp"
#include "src/pmpi/requests/own_request.hpp"

namespace sinew::pmpi {

/// The request of a non-blocking collective: a generalized request of MPI, which owns this object.
class GeneralizedRequest final : public OwnRequest {
public:
    /// Posts a call and sets `*request`. Returns the code of MPI if that has no request; the call has
    /// then not been posted. Throws as OwnRequest::post.
    template <class Queue, class Call, class... More>
    static int post(MPI_Request* request, Queue& queue, std::shared_ptr<Call> call,
                    More const&... more) {
        GeneralizedRequest* own = nullptr;  // until MPI calls on_free
        int const code = make(queue, own);
        if (code != MPI_SUCCESS) return code;
        *request = own->handle();
        own->OwnRequest::post(queue, std::move(call), more...);
        return MPI_SUCCESS;
    }

private:
    using OwnRequest::OwnRequest;
    static int make(CallQueue& queue, GeneralizedRequest*& own);
    static int on_query(void* own, MPI_Status* status);
    static int on_free(void* own);
    static int on_cancel(void* own, int complete);
    void on_complete() override;
};

}  // namespace sinew::pmpi
