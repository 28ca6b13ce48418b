// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>

#include "launchers/pmi/pmix_library.hpp"
#include "launchers/pmi/pmix_server.hpp"

namespace sinew::launch {

/// What libpmix's calls into this process need, and what is left of a server when a reply comes
/// after its end: shared by the server and by every reply it has handed out.
struct PmixUpcallState {
    std::shared_ptr<PmixLibrary const> library;
    PmixServer::Upcalls upcalls;
    std::mutex mutex;
    bool alive = true;  ///< guarded by `mutex`: the library may be called with a reply
};

/// The table libpmix wants. Newer versions than that of our header read beyond its end: zeros.
struct PmixModule {
    pmix_server_module_t table{};
    void* later[32] = {};
};
PmixModule make_pmix_module();

/// From now on the functions of the module make the upcalls of this state: they get no pointer of
/// ours. False if another one has not ended.
bool serve_pmix_upcalls(std::shared_ptr<PmixUpcallState> state);
/// No upcall comes after this, and replies to earlier ones go nowhere.
void end_pmix_upcalls(PmixUpcallState& state);

/// For PMIx_server_dmodex_request: hands the data to `reply`.
pmix_status_t request_modex(std::shared_ptr<PmixLibrary const> const& library,
                            pmix_proc_t const& process, PmixServer::Reply reply);

}  // namespace sinew::launch
