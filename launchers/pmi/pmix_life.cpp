// SPDX-License-Identifier: Apache-2.0
#include "launchers/pmi/pmix_life.hpp"

#include <unistd.h>
#include <sinew/error.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <vector>

#include "launchers/pmi/pmix_info.hpp"
#include "launchers/pmi/pmix_upcalls.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

struct Running {
    std::mutex mutex;
    std::shared_ptr<PmixLibrary const> library;  // null: not started
    std::string node, folder;
    bool ended = false, client_vanished = false;
};

// This object is never destroyed, since the library's threads may outlive main().
Running& running() {
    static auto* const only = new Running;
    return *only;
}

// The kernel reports the ends of clients. Without a handler the library prints these events.
void ignore_event(std::size_t, pmix_status_t, pmix_proc_t const*, pmix_info_t*, std::size_t,
                  pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done, void* data) {
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
}

void ignore_events(PmixLibrary const& library) {
    library.wait_for("PMIx_Register_event_handler", nullptr, [&](auto callback, void* data) {
        // Its callback has one more argument, which is not needed.
        struct Forward {
            pmix_op_cbfunc_t callback;
            void* data;
        };
        library.register_event_handler(
            nullptr, 0, nullptr, 0, ignore_event,
            [](pmix_status_t status, std::size_t, void* forward_data) {
                std::unique_ptr<Forward> const forward(static_cast<Forward*>(forward_data));
                forward->callback(status, forward->data);
            },
            new Forward{callback, data});
        return PMIX_SUCCESS;
    });
}

void start(PmixLibrary const& library, std::string const& node, std::string const& folder,
           std::string const& security) {
    prepare_pmix_environment(security);
    auto const infos = std::make_shared<PmixInfos>(PmixItems{
        {PMIX_SERVER_TMPDIR, folder},
        {PMIX_SYSTEM_TMPDIR, folder},
        {PMIX_SERVER_NSPACE, "sinew-agent-" + node},
        {PMIX_SERVER_RANK, PmixRank{0}},
        // The library finds its node in the job's map by this name. If it guessed, ranks of two
        // agents on one host would assume that they share memory.
        {PMIX_HOSTNAME, node},
        {PMIX_SERVER_SHARE_TOPOLOGY, true},
        {PMIX_IOF_LOCAL_OUTPUT, false}});
    auto const module = std::make_shared<PmixModule>(make_pmix_module());
    auto const status =
        within_patience("PMIx_server_init", [infos, module, init = library.server_init] {
            return init(&module->table, infos->data(), infos->size());
        });
    library.check(status, text("PMIx_server_init in ", folder));
    ignore_events(library);
}

}  // namespace

// Removes an outer launcher's variables, which would lead this server to the outer one, and makes
// libpmix choose components without a daemon. Requires: the library has no threads yet.
void prepare_pmix_environment(std::string const& security) {
    static std::atomic_flag done;
    if (done.test_and_set()) return;
    std::vector<std::string> foreign;
    for (char** word = ::environ; *word != nullptr; ++word) {
        std::string_view const name(*word, std::strcspn(*word, "="));
        if (name.starts_with("PMIX_") && !name.starts_with("PMIX_MCA_")) foreign.emplace_back(name);
    }
    for (auto const& name : foreign) ::unsetenv(name.c_str());
    if (!security.empty()) ::setenv("PMIX_MCA_psec", security.c_str(), 1);
    ::setenv("PMIX_MCA_psec", "native", 0);
    ::setenv("HWLOC_COMPONENTS", "-gl", 0);
}

std::shared_ptr<PmixLibrary const> running_pmix(std::string const& node, std::string const& folder,
                                                std::string const& security) {
    auto& now = running();
    std::lock_guard const lock(now.mutex);
    if (now.ended)
        throw UsageError(text("PMIx cannot be started again on ", node,
                              " (it has ended in this process). Use a new process"));
    if (now.library && (now.node != node || now.folder != folder))
        throw UsageError(text("PMIx cannot serve ", node, " in ", folder, " (it serves ", now.node,
                              " in ", now.folder, " until this process ends)"));
    if (now.library) return now.library;
    auto library = PmixLibrary::load();
    now.ended = true;  // a start that fails halfway cannot be repeated
    start(*library, node, folder, security);
    now.ended = false;
    now.node = node;
    now.folder = folder;
    return now.library = std::move(library);
}

void pmix_client_vanished() noexcept {
    std::lock_guard const lock(running().mutex);
    running().client_vanished = true;
}

void end_pmix() noexcept try {
    auto& now = running();
    std::lock_guard const lock(now.mutex);
    if (!now.library || now.ended) return;
    now.ended = true;
    ::unlink((now.folder + "/hwloc.sm").c_str());  // the library leaves this file behind
    if (!now.client_vanished) {
        within_patience("PMIx_server_finalize", now.library->server_finalize);
        return;
    }
    for (auto const& file : std::filesystem::directory_iterator(now.folder)) {
        auto const name = file.path().filename().string();
        if (name.starts_with("pmix")) std::filesystem::remove_all(file.path());
    }
} catch (std::exception const& error) {
    log_warning(error.what());
}

}  // namespace sinew::launch
