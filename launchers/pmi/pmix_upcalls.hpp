// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>

#include "launchers/pmi/pmix_library.hpp"
#include "launchers/pmi/pmix_server.hpp"

namespace sinew::launch {

/// The state that libpmix's calls into this process need. The server and all replies it has handed
/// out share it, so that a reply finds it even after the server's end.
struct PmixUpcallState {
    std::shared_ptr<PmixLibrary const> library;
    PmixServer::Upcalls upcalls;
    std::mutex mutex;
    bool alive = true;  ///< guarded by `mutex`; false: replies must not call the library
};

/// The function table for libpmix. Versions newer than the header read zeros beyond its end.
struct PmixModule {
    pmix_server_module_t table{};
    void* later[32] = {};
};
PmixModule make_pmix_module();

/// From this call on, the module's functions make the upcalls of `state`, since libpmix passes them
/// no pointer to it. Returns false if another state has not been ended.
bool serve_pmix_upcalls(std::shared_ptr<PmixUpcallState> state);
/// No upcall is made after this call, and replies to earlier ones are dropped.
void end_pmix_upcalls(PmixUpcallState& state);

/// Calls PMIx_server_dmodex_request, which hands the data to `reply` unless this fails.
pmix_status_t request_modex(std::shared_ptr<PmixLibrary const> const& library,
                            pmix_proc_t const& process, PmixServer::Reply reply);

}  // namespace sinew::launch
