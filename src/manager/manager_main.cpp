// SPDX-License-Identifier: Apache-2.0
#include "src/manager/manager_main.hpp"

#include <unistd.h>

#include <utility>

#include "src/manager/desk.hpp"
#include "src/wire/adopt.hpp"

namespace sinew::manager {
namespace {

// Calls of its own objects.
constexpr std::size_t most_pending_here = 10'000;

// For the rest of the process's life: as long as the link is open, its maker knows that we live, and
// its end tells us of the maker's.
void answer_to_maker(process::ChildStart& start, process::Mail& mail, Server& server) {
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
    Writer address;
    mail.own_address().encode_to(address);
    maker->send_now(manager_ready, 0, {address.bytes()});
}

}  // namespace

int manager_main(process::ChildStart& start) {
    auto& desk = Desk::instance();
    Server* server = nullptr;
    {
        process::Lock const lock(desk.mail().guard());
        server = &desk.serve();
        if (!start.message.empty()) {
            Reader reader(start.message);
            auto line = Line::decode_from(reader);
            line.key = decode<std::uint64_t>(reader);
            server->keep(line);
            desk.connection(desk.mail().own_address(), most_pending_here,
                            std::make_shared<Line const>(line));
        }
        answer_to_maker(start, desk.mail(), *server);
    }
    server->work();
    return 0;
}

}  // namespace sinew::manager
