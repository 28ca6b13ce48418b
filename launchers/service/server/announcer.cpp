// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/server/announcer.hpp"

#include <span>
#include <string_view>
#include <utility>

#include <sinew/error.hpp>

#include "launchers/service/protocol.hpp"
#include "launchers/service/server/registry.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::service {

Announcer::Announcer(wire::Loop& loop, wire::Address registry, wire::Secret const& key,
                     ServiceEntry service, std::function<void(std::string const&)> changed)
    : loop_(loop),
      registry_(std::move(registry)), credentials_{.secret = key, .self = {.name = "sinew serve"}},
      service_(std::move(service)), changed_(std::move(changed)) {
    timer_ = loop_.every(announcement_period, [this] { announce(); });
    announce();
}

void Announcer::announce() {
    if (!link_) return dial();
    auto const bytes =
        to_json(ClientRequest{.verb = ClientRequest::Verb::announce, .service = service_});
    link_->send(static_cast<std::uint8_t>(MessageKind::request), 0,
                {std::as_bytes(std::span(bytes))});
}

void Announcer::dial() {
    if (dialling_) return;
    dialling_ = wire::dial(
        loop_, registry_, credentials_, link_options(), announcement_period,
        [this](wire::Dialled dialled) {
            dialling_ = {};
            if (!dialled.link) return report(dialled.error);
            link_ = std::move(dialled.link);
            link_->on({.message =
                           [this](wire::Message const& message) {
                               try {
                                   auto const answer = parse_server_answer(
                                       {reinterpret_cast<char const*>(message.payload.data()),
                                        message.payload.size()});
                                   bool const failed = answer.kind == ServerAnswer::Kind::error;
                                   report(failed ? answer.text : "");
                               } catch (UsageError const& problem) {
                                   report(problem.what());
                               }
                           },
                       .end =
                           [this](wire::LinkEnd const& end) {
                               link_ = nullptr;
                               report(end.text);
                           }});
            announce();
        });
}

// The same problem is logged once.
void Announcer::report(std::string const& problem) {
    if (!problem.empty() && reported_.empty())
        log_warning(text("the registry ", registry_.text(), " does not know this server: ", problem,
                         ". Trying again"));
    bool const changes = problem.empty() != reported_.empty();
    reported_ = problem;
    if (changes) changed_(problem);
}

}  // namespace sinew::launch::service
