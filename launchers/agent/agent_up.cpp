// SPDX-License-Identifier: Apache-2.0
// How an agent reaches the root, attaches to a parent, and finds another when that is lost.
#include <unistd.h>

#include <algorithm>
#include <sinew/error.hpp>
#include <sinew/version.hpp>

#include "launchers/agent/agent.hpp"
#include "launchers/common/host_name.hpp"
#include "launchers/map/binding.hpp"
#include "launchers/tree/tree.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// Heartbeat timeouts are off, since the root may be stopped by Ctrl-Z, which must not count as
// dead. TCP keepalive detects a dead host, and the end of the connection a dead process.
wire::LinkOptions upward_options() {
    wire::LinkOptions options;
    options.suspect_after = options.dead_after = wire::Clock::duration::zero();
    return options;
}

}  // namespace

void Agent::dial_root(std::size_t which) {
    auto const address = wire::Address::parse(config_.roots.at(which));
    auto patience = dial_until_ - wire::Clock::now();
    // A host that is not the root may never answer; the limit leaves time for the other addresses.
    if (config_.roots.size() > 1)
        patience = std::min<wire::Clock::duration>(patience, std::chrono::seconds(2));
    auto const next = (which + 1) % config_.roots.size();
    dialling_ = wire::dial(
        loop_, address, credentials_, upward_options(), patience, [this, next](auto dialled) {
            if (dialled.link) return welcome(std::move(dialled.link));
            // Waits first, since the connection may have been refused within a millisecond.
            auto const again = wire::Clock::now() + std::chrono::milliseconds(100);
            if (again < dial_until_ && config_.roots.size() > 1) {
                dialling_ =
                    loop_.after(std::chrono::milliseconds(100), [this, next] { dial_root(next); });
                return;
            }
            give_up("cannot reach sinew run at " + dialled.error);
        });
}

Hello Agent::hello(wire::Link const& link) {
    Hello hello{.node = config_.node,
                .incarnation = config_.incarnation,
                .name = config_.name,
                .version = std::string(sinew::version()),
                .pid = ::getpid(),
                .cores = usable_cores(),
                .host = host_name(),
                .address = link.local_host(),
                .interface = {},
                .listen = {},
                .free_port = free_port(),
                .unreachable = everyone,
                .place = place_};
    if (hello.address.empty()) hello.address = "127.0.0.1";  // all agents are on this host
    hello.interface = interface_ = wire::interface_of(hello.address).name;
    if (listener_)
        hello.listen = link.local_host().empty()
                           ? listener_->address().text()
                           : wire::Address::tcp(hello.address, listener_->address().port).text();
    return hello;
}

void Agent::welcome(std::unique_ptr<wire::Link> link) {
    first_link_ = std::move(link);
    first_link_->on({.message =
                         [this](wire::Message const& message) {
                             auto body = message.payload;
                             take_head<std::int32_t>(body);
                             if (static_cast<Kind>(message.kind) != Kind::place) return;
                             // Deferred: on_placement may replace this link's callbacks.
                             loop_.post([this, placement = decode<Placement>(text_of(body))] {
                                 on_placement(placement);
                             });
                         },
                     .end =
                         [this](auto const& end) {
                             if (!parent_)
                                 give_up("sinew run did not accept this agent: " + end.text);
                         }});
    say_hello(everyone);
}

void Agent::say_hello(int unreachable) {
    std::int32_t const node = config_.node;
    auto words = hello(*first_link_);
    words.unreachable = unreachable;
    first_link_->send(static_cast<std::uint8_t>(Kind::hello), 0,
                      {bytes_of(node), bytes_of(encode(words))});
}

void Agent::on_placement(Placement const& placement) {
    if (!placement.refused.empty()) return give_up("refused by sinew run: " + placement.refused);
    parent_node_ = placement.parent;
    if (placement.parent == root_node) return attach(std::move(first_link_));
    dialling_ = wire::dial(loop_, wire::Address::parse(placement.address), credentials_,
                           upward_options(), std::chrono::seconds(3), [this](auto dialled) {
                               if (dialled.link) return attach(std::move(dialled.link));
                               if (first_link_) say_hello(parent_node_);  // asks for another parent
                           });
}

void Agent::attach(std::unique_ptr<wire::Link> link) {
    parent_ = std::move(link);
    parent_->on({.message = [this](auto const& message) { on_parent_message(message); },
                 .end = [this](auto const& end) { on_parent_lost(end); }});
    Attach all{.nodes = {config_.node}, .again = was_attached_};
    for (auto const& [child, below] : children_) {
        auto const nodes = below.nodes.nodes();
        all.nodes.insert(all.nodes.end(), nodes.begin(), nodes.end());
    }
    was_attached_ = true;
    up(Kind::attach, {bytes_of(encode(all))});
    perform(fences_.parent_found());
    for (auto const& message : std::exchange(waiting_, {}))
        parent_->send(static_cast<std::uint8_t>(message.kind), 0, {bytes_of(message.bytes)});
}

// Reports to the root only after the parent's answer: from then on its messages arrive here.
void Agent::on_attached() {
    if (!first_link_) return;
    std::int32_t const node = config_.node;
    first_link_->send(static_cast<std::uint8_t>(Kind::here), 0, {bytes_of(node)});
    first_link_->close();
}

void Agent::on_parent_lost(wire::LinkEnd const& end) {
    parent_.reset();
    if (finishing_now_) return loop_.stop();
    if (parent_node_ == root_node) return give_up(end.text);
    // The loss of the parent does not end this agent: the root assigns another or ends the job.
    fences_.parent_gone(end.text);
    // The root has been listening all the time, so if it does not answer soon, it is gone too.
    dial_until_ = wire::Clock::now() + std::chrono::seconds(2);
    dial_root(0);
}

void Agent::send_up(Kind kind, std::int32_t node,
                    std::initializer_list<std::span<std::byte const>> parts) {
    std::string whole(text_of(bytes_of(node)));
    for (auto const part : parts) whole += text_of(part);
    if (parent_) parent_->send(static_cast<std::uint8_t>(kind), 0, {bytes_of(whole)});
    else waiting_.push_back({kind, std::move(whole)});
}

void Agent::up(Kind kind, std::initializer_list<std::span<std::byte const>> parts) {
    send_up(kind, config_.node, parts);
}

void Agent::fence(FenceKey const& key, Bytes bytes) {
    perform(fences_.local(key, std::move(bytes)));
}

}  // namespace sinew::launch
