// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/pmi/pmix_upcalls.hpp"

namespace sinew::launch {

/// A request to publish or look up names (MPI_Publish_name), made on the library's thread.
struct PmixNameCall {
    std::shared_ptr<PmixUpcallState> state;
    pmix_proc_t const* process;  ///< the requesting rank
    pmix_op_cbfunc_t callback;
    void* callback_data;
};
pmix_status_t publish_names(PmixNameCall const& call, pmix_info_t const infos[], std::size_t count);
pmix_status_t unpublish_names(PmixNameCall const& call, char** keys);
pmix_status_t look_up_names(std::shared_ptr<PmixUpcallState> const& state, char** keys,
                            pmix_lookup_cbfunc_t callback, void* callback_data);

}  // namespace sinew::launch
