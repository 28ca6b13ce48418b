// SPDX-License-Identifier: Apache-2.0
#include "src/manager/manager_main.hpp"

#include <unistd.h>

#include <exception>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/manager/object_registry.hpp"
#include "src/manager/restart/start_message.hpp"
#include "src/process/auth_key.hpp"
#include "src/task/to_bytes.hpp"
#include "src/wire/adopt.hpp"

namespace sinew::manager {
namespace {

// Maximum calls in flight from the manager to its own objects.
constexpr std::size_t most_pending_here = 10'000;

// Opens the link to the supervisor for the rest of the process's life. Each side takes the end of
// the link for the death of the other; this process then exits.
void answer_to_supervisor(process::ChildStart& start, process::Messenger& messenger, Server& server,
                          std::string const& guests) {
    static wire::Link* supervisor = nullptr;
    [[maybe_unused]] static UniqueFd const bulk = std::move(start.bulk);
    supervisor = wire::adopt(messenger.runtime().loop(), std::move(start.control),
                             parent_identity(start), process::bulk_options())
                     .release();
    supervisor->on({.message =
                        [&server](wire::Message const& message) {
                            if (message.kind == manager_shutdown) server.stop();
                        },
                    .end = [](wire::LinkEnd const&) { ::_exit(1); }});
    process::obey_lease(start);
    supervisor->send_now(manager_ready, 0, {to_bytes(Ready{messenger.own_address(), guests})});
}

// Returns false after a failure, which it has logged.
bool initialize(StartMessage const& order, std::string const& name) {
    if (order.initializer == 0) return true;
    auto const* const entry = detail::find_task({order.initializer});
    if (entry == nullptr) {
        log_warning(text(name,
                         ": its initializer is not in this program (it may be in a library that "
                         "the supervisor has loaded by dlopen). Link that library"));
        return false;
    }
    try {
        Reader arguments(std::as_bytes(std::span(order.arguments)));
        Writer dropped;
        entry->run(nullptr, arguments, dropped);
        return true;
    } catch (...) {
        auto record = detail::describe(std::current_exception());
        record.function = detail::task_name(*entry);
        log_warning(text(name, ": ", record.text()));
        return false;
    }
}

}  // namespace

int manager_main(process::ChildStart& start) try {
    auto const order = from_bytes<StartMessage>(start.message);
    start.message.clear();
    if (!initialize(order, start.name)) return 1;
    auto& registry = ObjectRegistry::instance();
    Server* server = nullptr;
    {
        process::Lock const lock(registry.messenger().guard());
        server = &registry.serve();
        if (order.incarnation) {
            server->keep(*order.incarnation);
            registry.connection(registry.messenger().own_address(), most_pending_here,
                                std::make_shared<Incarnation const>(*order.incarnation));
        }
        std::string guests;
        if (!order.listen.empty())
            guests = registry.messenger().runtime().listen_to_guests(
                order.listen, process::secret_of(AuthKey::of(order.key)), order.guest_memory);
        answer_to_supervisor(start, registry.messenger(), *server, guests);
    }
    server->work();
    return 0;
} catch (Error const& error) {
    log_warning(text(start.name, ": ", error.what()));
    return 1;
}

}  // namespace sinew::manager
