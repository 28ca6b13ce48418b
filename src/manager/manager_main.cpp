// SPDX-License-Identifier: Apache-2.0
#include "src/manager/manager_main.hpp"

#include <unistd.h>

#include <exception>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/manager/desk.hpp"
#include "src/manager/order.hpp"
#include "src/process/auth_key.hpp"
#include "src/wire/adopt.hpp"

namespace sinew::manager {
namespace {

// Calls of its own objects.
constexpr std::size_t most_pending_here = 10'000;

// For the rest of the process's life: as long as the link is open, its maker knows that we live, and
// its end tells us of the maker's.
void answer_to_maker(process::ChildStart& start, process::Mail& mail, Server& server,
                     std::string const& guests) {
    static wire::Link* maker = nullptr;
    [[maybe_unused]] static UniqueFd const bulk = std::move(start.bulk);
    maker = wire::adopt(mail.runtime().loop(), std::move(start.control), parent_identity(start),
                        process::bulk_options())
                .release();
    maker->on({.message =
                   [&server](wire::Message const& message) {
                       if (message.kind == manager_shutdown) server.stop();
                   },
               .end = [](wire::LinkEnd const&) { ::_exit(1); }});
    process::obey_lease(start);
    Writer ready;
    Ready{mail.own_address(), guests}.encode_to(ready);
    maker->send_now(manager_ready, 0, {ready.bytes()});
}

// False: it has said why.
bool initialize(Order const& order, std::string const& name) {
    if (order.initializer == 0) return true;
    auto const* const entry = detail::find_task({order.initializer});
    if (entry == nullptr) {
        log_warning(text(name,
                         ": its initializer is not in this program (it may be in a library that "
                         "the maker has loaded by dlopen). Link that library"));
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
    auto const order = Order::decode(start.message);
    start.message.clear();
    if (!initialize(order, start.name)) return 1;
    auto& desk = Desk::instance();
    Server* server = nullptr;
    {
        process::Lock const lock(desk.mail().guard());
        server = &desk.serve();
        if (order.line) {
            server->keep(*order.line);
            desk.connection(desk.mail().own_address(), most_pending_here,
                            std::make_shared<Line const>(*order.line));
        }
        std::string guests;
        if (!order.listen.empty())
            guests = desk.mail().runtime().listen_to_guests(
                order.listen, process::secret_of(AuthKey::of(order.key)), order.guest_memory);
        answer_to_maker(start, desk.mail(), *server, guests);
    }
    server->work();
    return 0;
} catch (Error const& error) {
    log_warning(text(start.name, ": ", error.what()));
    return 1;
}

}  // namespace sinew::manager
