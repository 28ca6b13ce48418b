// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/requests/generalized_request.hpp"

namespace sinew::pmpi {

int GeneralizedRequest::make(CallQueue& queue, GeneralizedRequest*& own) {
    std::unique_ptr<GeneralizedRequest> made(new GeneralizedRequest(queue));
    MPI_Request handle{};
    int const code = real().Grequest_start(on_query, on_free, on_cancel, made.get(), &handle);
    if (code != MPI_SUCCESS) return code;
    own = made.release();
    own->enter(handle);
    return MPI_SUCCESS;
}

int GeneralizedRequest::on_query(void* own, MPI_Status* status) {
    real().Status_set_elements(status, MPI_BYTE, 0);
    real().Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return static_cast<GeneralizedRequest*>(own)->has_failed() ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int GeneralizedRequest::on_free(void* own) {
    std::unique_ptr<GeneralizedRequest> const ending(static_cast<GeneralizedRequest*>(own));
    ending->leave();
    return MPI_SUCCESS;
}

/// MPI has no cancellation of collectives.
int GeneralizedRequest::on_cancel(void*, int) { return MPI_SUCCESS; }

void GeneralizedRequest::on_complete() { real().Grequest_complete(handle()); }

}  // namespace sinew::pmpi
