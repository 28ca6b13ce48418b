// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/server/registry.hpp"

#include <sinew/error.hpp>
#include <span>
#include <utility>

#include "launchers/common/host_name.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::service {
namespace {

constexpr std::size_t most_links = 4096;

}  // namespace

Registry::Registry(wire::Loop& loop, wire::Address const& address, wire::Secret const& key,
                   std::chrono::milliseconds expiry)
    : table_(expiry),
      listener_(loop, address, {.secret = key, .self = {.name = "sinew registry"}},
                {.link = link_options()},
                [this](std::unique_ptr<wire::Link> link) { accept(std::move(link)); }) {}

void Registry::accept(std::unique_ptr<wire::Link> link) {
    if (links_.size() >= most_links) return;  // the link is closed
    auto const number = next_link_++;
    auto* const its = link.get();
    its->on({.message =
                 [this, its](wire::Message const& message) {
                     auto const bytes = to_json(answer(message));
                     its->send(static_cast<std::uint8_t>(MessageKind::answer), 0,
                               {std::as_bytes(std::span(bytes))});
                 },
             .end = [this, number](wire::LinkEnd const&) { links_.erase(number); }});
    links_.emplace(number, std::move(link));
}

ServerAnswer Registry::answer(wire::Message const& message) {
    using Verb = ClientRequest::Verb;
    auto const now = std::chrono::steady_clock::now();
    try {
        auto const request = parse_client_request(
            {reinterpret_cast<char const*>(message.payload.data()), message.payload.size()});
        if (request.verb == Verb::announce) {
            table_.announce(request.service, now);
            return {.kind = ServerAnswer::Kind::services};
        }
        if (request.verb != Verb::services)
            throw UsageError("this is a sinew registry, which runs no jobs. Ask a sinew serve");
        return {.kind = ServerAnswer::Kind::services, .services = table_.services(now)};
    } catch (UsageError const& problem) {
        return {.kind = ServerAnswer::Kind::error, .text = problem.what(), .usage = true};
    }
}

}  // namespace sinew::launch::service
