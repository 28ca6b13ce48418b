// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace sinew::launch {

/// A function of libpmix, which is loaded at the first use. Throws as PmixLibrary::load().
struct PmixSymbol {
    char const* name;
    template <class Function>
    operator Function*() const {
        return reinterpret_cast<Function*>(address());
    }
    void* address() const;
};

/// The functions of libpmix, found at run time, so that programs without PMIx start without it.
///
/// Loaded once and never unloaded, since its threads and exit handlers may outlive its last user.
struct PmixLibrary {
    /// Throws Unavailable with the reason and the package's name.
    static std::shared_ptr<PmixLibrary const> load();

    decltype(&::PMIx_server_init) server_init = PmixSymbol{"PMIx_server_init"};
    decltype(&::PMIx_server_finalize) server_finalize = PmixSymbol{"PMIx_server_finalize"};
    decltype(&::PMIx_generate_regex) generate_regex = PmixSymbol{"PMIx_generate_regex"};
    decltype(&::PMIx_generate_ppn) generate_ppn = PmixSymbol{"PMIx_generate_ppn"};
    decltype(&::PMIx_server_register_nspace) register_nspace =
        PmixSymbol{"PMIx_server_register_nspace"};
    decltype(&::PMIx_server_deregister_nspace) deregister_nspace =
        PmixSymbol{"PMIx_server_deregister_nspace"};
    decltype(&::PMIx_server_register_client) register_client =
        PmixSymbol{"PMIx_server_register_client"};
    decltype(&::PMIx_server_setup_fork) setup_fork = PmixSymbol{"PMIx_server_setup_fork"};
    decltype(&::PMIx_server_dmodex_request) dmodex_request =
        PmixSymbol{"PMIx_server_dmodex_request"};
    decltype(&::PMIx_server_generate_locality_string) locality_string =
        PmixSymbol{"PMIx_server_generate_locality_string"};
    decltype(&::PMIx_Parse_cpuset_string) parse_cpuset = PmixSymbol{"PMIx_Parse_cpuset_string"};
    decltype(&::PMIx_Cpuset_destruct) destruct_cpuset = PmixSymbol{"PMIx_Cpuset_destruct"};
    decltype(&::PMIx_Register_event_handler) register_event_handler =
        PmixSymbol{"PMIx_Register_event_handler"};
    decltype(&::PMIx_Deregister_event_handler) deregister_event_handler =
        PmixSymbol{"PMIx_Deregister_event_handler"};
    decltype(&::PMIx_Data_pack) pack = PmixSymbol{"PMIx_Data_pack"};
    decltype(&::PMIx_Data_unpack) unpack = PmixSymbol{"PMIx_Data_unpack"};
    decltype(&::PMIx_Value_load) load_value = PmixSymbol{"PMIx_Value_load"};
    decltype(&::PMIx_Value_destruct) destruct_value = PmixSymbol{"PMIx_Value_destruct"};
    decltype(&::PMIx_Error_string) error_string = PmixSymbol{"PMIx_Error_string"};
    decltype(&::PMIx_Get_version) version = PmixSymbol{"PMIx_Get_version"};

    /// Throws BackendError "what failed (the library's text)" unless `status` is a success.
    void check(pmix_status_t status, std::string const& what) const;
    /// Calls `start`, which ends in a callback, and waits for that. Throws Timeout after
    /// pmix_patience, BackendError on failure; `keep` lives until the callback, however late.
    void wait_for(std::string const& what, std::shared_ptr<void> keep,
                  std::function<pmix_status_t(pmix_op_cbfunc_t, void*)> const& start) const;
    /// Runs `work` on the library's own thread, the only one on which some of its replies are safe.
    void on_its_thread(std::function<void()> work) const;
};

/// Time limit for a library call that waits only for the library itself.
constexpr std::chrono::seconds pmix_patience{30};

/// Calls `work` on another thread and waits. Throws Timeout "`what` has not returned ...".
pmix_status_t within_patience(std::string const& what, std::function<pmix_status_t()> work);

}  // namespace sinew::launch
