// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "src/pmpi/requests/own_request.hpp"

namespace sinew::pmpi {

/// The request of a non-blocking collective: a generalized request of MPI, which owns this object.
class GeneralizedRequest final : public OwnRequest {
public:
    /// Posts a call and sets `*request`. Returns the code of MPI if that has no request; the call has
    /// then not been posted. Throws as OwnRequest::post.
    static int post(PostingQueue& queue, std::shared_ptr<PostedCollective> call,
                    std::span<std::byte const> message, MPI_Request* request);

private:
    using OwnRequest::OwnRequest;
    static int on_query(void* own, MPI_Status* status);
    static int on_free(void* own);
    static int on_cancel(void* own, int complete);
    void on_complete() override;
};

}  // namespace sinew::pmpi
