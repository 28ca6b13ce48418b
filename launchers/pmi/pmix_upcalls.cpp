// SPDX-License-Identifier: Apache-2.0
#include "launchers/pmi/pmix_upcalls.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "launchers/pmi/pmix_names.hpp"

// libpmix calls these on its own thread, which serves all ranks: they hand over copies and return.

namespace sinew::launch {
namespace {

using Blob = PmixServer::Blob;
using Reply = PmixServer::Reply;
using State = std::shared_ptr<PmixUpcallState>;

// This object is never destroyed, since the library's thread may outlive main().
struct Current {
    std::mutex mutex;
    State state;
};
Current& current() {
    static auto* const only = new Current;
    return *only;
}

// The server that gets the upcalls, locked during a call; end_pmix_upcalls waits for that.
class Serving {
public:
    explicit operator bool() const { return current().state != nullptr; }
    PmixServer::Upcalls const& upcalls() const { return current().state->upcalls; }
    State const& state() const { return current().state; }

private:
    std::lock_guard<std::mutex> lock_{current().mutex};
};

// Runs `answer` at most once, and only while the library can take it.
Reply once(State state, std::function<void(bool, Blob const&)> answer) {
    auto const done = std::make_shared<std::atomic_flag>();
    return [state = std::move(state), done, answer = std::move(answer)](bool ok, Blob const& data) {
        if (done->test_and_set()) return;
        std::lock_guard const lock(state->mutex);
        if (state->alive) answer(ok, data);
    };
}

Reply modex_reply(State state, pmix_modex_cbfunc_t callback, void* data) {
    return once(std::move(state), [callback, data](bool ok, Blob const& bytes) {
        if (!ok) return callback(PMIX_ERR_LOST_CONNECTION, nullptr, 0, data, nullptr, nullptr);
        auto* const copy = new Blob(bytes);
        callback(
            PMIX_SUCCESS, reinterpret_cast<char const*>(copy->data()), copy->size(), data,
            [](void* blob) { delete static_cast<Blob*>(blob); }, copy);
    });
}

Blob blob_of(char const* data, std::size_t size) {
    Blob blob(size);
    if (size != 0) std::memcpy(blob.data(), data, size);
    return blob;
}

// Sets `ranks` to those of a fence; empty for the whole job. False if not all are of one job.
bool ranks_of(pmix_proc_t const processes[], std::size_t count, std::vector<int>& ranks) {
    for (std::size_t i = 0; i < count; ++i) {
        if (std::strcmp(processes[i].nspace, processes[0].nspace) != 0) return false;
        if (processes[i].rank == PMIX_RANK_WILDCARD) {
            ranks.clear();
            return count == 1;
        }
        ranks.push_back(static_cast<int>(processes[i].rank));
    }
    std::sort(ranks.begin(), ranks.end());
    return count > 0;
}

pmix_status_t fence(pmix_proc_t const processes[], std::size_t count, pmix_info_t const*,
                    std::size_t, char* data, std::size_t size, pmix_modex_cbfunc_t callback,
                    void* callback_data) {
    Blob blob = blob_of(data, size);
    std::free(data);  // owned by this function, despite the header: the library does not free it
    std::vector<int> ranks;
    Serving const server;
    if (!server || !ranks_of(processes, count, ranks)) return PMIX_ERR_NOT_SUPPORTED;
    server.upcalls().fence(std::move(ranks), std::move(blob),
                           modex_reply(server.state(), callback, callback_data));
    return PMIX_SUCCESS;
}

pmix_status_t direct_modex(pmix_proc_t const* process, pmix_info_t const*, std::size_t,
                           pmix_modex_cbfunc_t callback, void* callback_data) {
    Serving const server;
    // Requests about the job as a whole were answered at registration, or have no answer.
    if (!server || process->rank > PMIX_RANK_VALID) return PMIX_ERR_NOT_FOUND;
    server.upcalls().modex(static_cast<int>(process->rank),
                           modex_reply(server.state(), callback, callback_data));
    return PMIX_SUCCESS;
}

pmix_status_t abort_job(pmix_proc_t const* process, void*, int status, char const message[],
                        pmix_proc_t*, std::size_t, pmix_op_cbfunc_t callback, void* callback_data) {
    if (Serving const server; server)
        server.upcalls().abort(static_cast<int>(process->rank), status,
                               message == nullptr ? "" : message);
    // The rank waits for this before it exits; the job ends the other ranks.
    if (callback != nullptr) callback(PMIX_SUCCESS, callback_data);
    return PMIX_SUCCESS;
}

pmix_status_t connected(pmix_proc_t const* process, void*, pmix_info_t*, std::size_t,
                        pmix_op_cbfunc_t, void*) {
    if (Serving const server; server) server.upcalls().connected(static_cast<int>(process->rank));
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t finalized(pmix_proc_t const* process, void*, pmix_op_cbfunc_t, void*) {
    if (Serving const server; server) server.upcalls().finalized(static_cast<int>(process->rank));
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t publish(pmix_proc_t const* process, pmix_info_t const infos[], std::size_t count,
                      pmix_op_cbfunc_t callback, void* callback_data) {
    Serving const server;
    if (!server) return PMIX_ERR_NOT_SUPPORTED;
    return publish_names({server.state(), process, callback, callback_data}, infos, count);
}

pmix_status_t unpublish(pmix_proc_t const* process, char** keys, pmix_info_t const*, std::size_t,
                        pmix_op_cbfunc_t callback, void* callback_data) {
    Serving const server;
    if (!server) return PMIX_ERR_NOT_SUPPORTED;
    return unpublish_names({server.state(), process, callback, callback_data}, keys);
}

pmix_status_t lookup(pmix_proc_t const*, char** keys, pmix_info_t const*, std::size_t,
                     pmix_lookup_cbfunc_t callback, void* callback_data) {
    Serving const server;
    if (!server) return PMIX_ERR_NOT_SUPPORTED;
    return look_up_names(server.state(), keys, callback, callback_data);
}

// Spawning programs and connecting to other jobs are not supported, and MPI reports that. A null
// entry would do for spawn, but not cleanly for the other two.
pmix_status_t spawn(pmix_proc_t const*, pmix_info_t const*, std::size_t, pmix_app_t const*,
                    std::size_t, pmix_spawn_cbfunc_t, void*) {
    return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t connect(pmix_proc_t const*, std::size_t, pmix_info_t const*, std::size_t,
                      pmix_op_cbfunc_t, void*) {
    return PMIX_ERR_NOT_SUPPORTED;
}

// Clients are sent no events, but registering for some is not an error.
pmix_status_t register_events(pmix_status_t*, std::size_t, pmix_info_t const*, std::size_t,
                              pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t deregister_events(pmix_status_t*, std::size_t, pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
}

void modex_found(pmix_status_t status, char* data, std::size_t size, void* callback_data) {
    std::unique_ptr<Reply> const reply(static_cast<Reply*>(callback_data));
    bool const ok = status == PMIX_SUCCESS;
    (*reply)(ok, ok ? blob_of(data, size) : Blob{});
}

}  // namespace

PmixModule make_pmix_module() {
    PmixModule module;
    module.table.client_connected2 = connected;
    module.table.client_finalized = finalized;
    module.table.abort = abort_job;
    module.table.fence_nb = fence;
    module.table.direct_modex = direct_modex;
    module.table.publish = publish;
    module.table.lookup = lookup;
    module.table.unpublish = unpublish;
    module.table.spawn = spawn;
    module.table.connect = connect;
    module.table.disconnect = connect;
    module.table.register_events = register_events;
    module.table.deregister_events = deregister_events;
    return module;
}

bool serve_pmix_upcalls(State state) {
    std::lock_guard const lock(current().mutex);
    if (current().state) return false;
    current().state = std::move(state);
    return true;
}

void end_pmix_upcalls(PmixUpcallState& state) {
    {
        std::lock_guard const lock(current().mutex);
        if (current().state.get() == &state) current().state = nullptr;
    }
    std::lock_guard const lock(state.mutex);
    state.alive = false;
}

pmix_status_t request_modex(std::shared_ptr<PmixLibrary const> const& library,
                            pmix_proc_t const& process, Reply reply) {
    auto* const data = new Reply(std::move(reply));
    auto const status = library->dmodex_request(&process, modex_found, data);
    if (status != PMIX_SUCCESS) delete data;
    return status;
}

}  // namespace sinew::launch
