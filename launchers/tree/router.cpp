// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/router.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "launchers/tree/fence_codec.hpp"
#include "launchers/tree/tree.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// The address from which ssh connected comes first, since that is known to work.
std::vector<std::string> best_first(std::vector<std::string> roots) {
    char const* const connection = ::getenv("SSH_CONNECTION");  // "10.0.0.1 51234 10.0.0.2 22"
    if (connection == nullptr) return roots;
    std::string_view const words = connection;
    auto const host = std::string(words.substr(0, words.find(' ')));
    std::stable_partition(roots.begin(), roots.end(), [&](std::string const& root) {
        return wire::Address::parse(root).host == host;
    });
    return roots;
}

// When an agent that comes by itself says what it waits for: first, and then again.
constexpr auto first_word_after = std::chrono::seconds(10);
constexpr auto next_word_after = std::chrono::seconds(30);

// Heartbeat timeouts are off, since the root may be stopped by Ctrl-Z, which must not count as
// dead. TCP keepalive detects a dead host, and the end of the connection a dead process.
wire::LinkOptions upward_options() {
    wire::LinkOptions options;
    options.suspect_after = options.dead_after = wire::Clock::duration::zero();
    return options;
}

}  // namespace

TreeRouter::TreeRouter(wire::Loop& loop, AgentConfig const& config, Hello self, std::string folder,
                       Callbacks callbacks)
    : loop_(loop), config_(config), self_(std::move(self)), folder_(std::move(folder)),
      callbacks_(std::move(callbacks)),
      credentials_{.secret = wire::Secret::from_hex(config.secret),
                   .self = {.node = static_cast<std::uint32_t>(config.node),
                            .slot = 0,
                            .epoch = config.incarnation,
                            .name = text("agent on ", config.name),
                            .origin = self_.process}},
      fences_(config.node), pause_(config.by_itself) {}

TreeRouter::~TreeRouter() = default;

void TreeRouter::connect() {
    if (config_.listen) listen();
    auto const now = wire::Clock::now();
    dial_until_ = now + std::chrono::milliseconds(config_.patience_ms);
    tell_at_ = now + first_word_after;
    // A root that accepts agents and loses them at once is not asked without a pause.
    if (config_.by_itself && config_.incarnation > 0)
        dialling_ = loop_.after(pause_.next(false), [this] { dial_root(); });
    else dial_root();
}

void TreeRouter::dial_root() {
    auto patience = dial_until_ - wire::Clock::now();
    // What happened before says more than that nobody answers at once.
    constexpr auto least_patience = std::chrono::milliseconds(50);
    if (!dialled_before_.empty() && patience < least_patience)
        return callbacks_.root_lost(dialled_before_);
    bool const again = config_.roots.size() > 1 || config_.by_itself;
    // A connection may hang, and another one not.
    if (again) patience = std::min<wire::Clock::duration>(patience, std::chrono::seconds(2));
    root_dial_ = std::make_unique<RootDial>(
        loop_, best_first(config_.roots), credentials_, upward_options(), patience,
        [this, again](auto dialled) {
            dials_ += dialled.attempts;
            if (dialled.link) return welcome(std::move(dialled.link));
            auto const why = "cannot reach sinew run at " + dialled.error;
            if (again) dial_again(why, dialled.unreachable);
            else callbacks_.root_lost(why);
        });
}

// Waits first, since the connection may have been refused within a millisecond.
void TreeRouter::dial_again(std::string const& why, bool unreachable) {
    auto const now = wire::Clock::now();
    auto const wait = pause_.next(unreachable);
    if (now + wait >= dial_until_) return callbacks_.root_lost(why);
    dialled_before_ = why;
    if (config_.by_itself && now >= tell_at_) {
        tell_at_ = now + next_word_after;
        callbacks_.waiting(why);
    }
    dialling_ = loop_.after(wait, [this] { dial_root(); });
}

Hello TreeRouter::hello(wire::Link const& link) {
    auto hello = self_;
    hello.dials = dials_;
    hello.address = config_.address.empty() ? link.local_host() : config_.address;
    if (hello.address.empty()) hello.address = "127.0.0.1";  // all agents are on this host
    hello.interface = interface_ = wire::interface_of(hello.address).name;
    if (listener_)
        hello.listen = link.local_host().empty()
                           ? listener_->address().text()
                           : wire::Address::tcp(hello.address, listener_->address().port).text();
    return hello;
}

void TreeRouter::welcome(std::unique_ptr<wire::Link> link) {
    first_link_ = std::move(link);
    first_link_->on({.message =
                         [this](wire::Message const& message) {
                             auto body = message.payload;
                             take_head<std::int32_t>(body);
                             if (static_cast<Kind>(message.kind) != Kind::place) return;
                             // Deferred: on_placement may replace this link's callbacks.
                             placing_ =
                                 loop_.after(wire::Clock::duration::zero(),
                                             [this, placement = decode<Placement>(text_of(body))] {
                                                 on_placement(placement);
                                             });
                         },
                     .end =
                         [this](auto const& end) {
                             first_link_.reset();
                             if (!parent_ && !placing_) not_accepted(end.text);
                         }});
    say_hello(everyone);
}

void TreeRouter::not_accepted(std::string const& why) {
    callbacks_.root_lost("sinew run did not accept this agent: " + why);
}

void TreeRouter::say_hello(int unreachable) {
    std::int32_t const node = config_.node;
    auto words = hello(*first_link_);
    words.unreachable = unreachable;
    first_link_->send(static_cast<std::uint8_t>(Kind::hello), 0,
                      {bytes_of(node), bytes_of(encode(words))});
}

void TreeRouter::on_placement(Placement const& placement) {
    placing_ = {};
    if (!placement.refused.empty()) {
        auto const why = "refused by sinew run: " + placement.refused;
        first_link_.reset();
        if (placement.later && config_.by_itself) return dial_again(why, false);
        refused_ = true;
        return callbacks_.root_lost(why);
    }
    if (!first_link_) return not_accepted("its link has ended");
    parent_node_ = placement.parent;
    if (placement.parent == root_node) return attach(std::move(first_link_));
    dialling_ = wire::dial(loop_, wire::Address::parse(placement.address), credentials_,
                           upward_options(), std::chrono::seconds(3), [this](auto dialled) {
                               if (dialled.link) return attach(std::move(dialled.link));
                               if (first_link_) say_hello(parent_node_);  // asks for another parent
                           });
}

void TreeRouter::attach(std::unique_ptr<wire::Link> link) {
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
void TreeRouter::on_attached() {
    if (!first_link_) return;
    std::int32_t const node = config_.node;
    first_link_->send(static_cast<std::uint8_t>(Kind::here), 0, {bytes_of(node)});
    first_link_->close();
}

void TreeRouter::on_parent_lost(wire::LinkEnd const& end) {
    parent_.reset();
    if (farewell_) return callbacks_.parent_left();
    if (parent_node_ == root_node) return callbacks_.root_lost(end.text);
    // The loss of the parent does not end this agent: the root assigns another or ends the job.
    fences_.parent_gone(end.text);
    // The root has been listening all the time, so if it does not answer soon, it is gone too.
    pause_.reset();
    dial_until_ = wire::Clock::now() + std::chrono::seconds(2);
    dial_root();
}

void TreeRouter::send_up(Kind kind, std::int32_t node,
                         std::initializer_list<std::span<std::byte const>> parts) {
    std::string whole(text_of(bytes_of(node)));
    for (auto const part : parts) whole += text_of(part);
    if (parent_) parent_->send(static_cast<std::uint8_t>(kind), 0, {bytes_of(whole)});
    else waiting_.push_back({kind, std::move(whole)});
}

void TreeRouter::up(Kind kind, std::initializer_list<std::span<std::byte const>> parts) {
    send_up(kind, config_.node, parts);
}

void TreeRouter::flush() {
    if (parent_) parent_->flush();
}

void TreeRouter::close() {
    up(Kind::bye, {});
    parent_->close();
}

void TreeRouter::fence(FenceKey const& key, Bytes bytes) {
    perform(fences_.local(key, std::move(bytes)));
}

void TreeRouter::listen() {
    bool const here = config_.roots.front().starts_with("unix:");
    bool const six = config_.address.find(':') != std::string::npos;
    auto const address = here ? wire::Address::unix_socket(folder_ + "/agent.sock")
                              : wire::Address::tcp(six ? "::" : "0.0.0.0", 0);
    listener_ =
        std::make_unique<wire::Listener>(loop_, address, credentials_, wire::Listener::Options{},
                                         [this](auto link) { on_child(std::move(link)); });
}

void TreeRouter::on_child(std::unique_ptr<wire::Link> link) {
    int const child = static_cast<int>(link->peer().node);
    if (children_.contains(child))  // it reconnected before its loss was noticed
        child_lost(child, text(link->peer().name, " has connected again"));
    link->on({.message = [this, child](auto const& message) { on_child_message(child, message); },
              .end = [this, child](auto const& end) { on_child_end(child, end); }});
    children_.add(child, std::move(link));
}

void TreeRouter::on_child_message(int child, wire::Message const& message) {
    auto body = message.payload;
    auto const node = take_head<std::int32_t>(body);
    switch (auto const kind = static_cast<Kind>(message.kind)) {
        case Kind::fence_up:
            if (auto up = decode_up(body)) perform(fences_.from_child(child, std::move(*up)));
            return;
        case Kind::attach:
            return on_attach(child, node, body);
        case Kind::detached:
            return on_detached(child, decode<Detached>(text_of(body)));
        default:
            send_up(kind, node, {body});
    }
}

void TreeRouter::on_attach(int child, std::int32_t node, std::span<std::byte const> body) {
    auto const attach = decode<Attach>(text_of(body));
    auto& below = children_.at(child);
    NodeSet const more(attach.nodes);
    below.nodes = below.nodes | more;
    perform(fences_.more_below(child, more));
    if (node == child) {
        std::int32_t const to = child;
        below.link->send(static_cast<std::uint8_t>(Kind::attached), 0, {bytes_of(to)});
    }
    if (attach.again) send_up(Kind::attach, node, {body});
}

// Nodes no longer recorded below this child have reattached elsewhere and are not gone.
void TreeRouter::on_detached(int child, Detached detached) {
    auto& below = children_.at(child);
    auto const gone = NodeSet(detached.nodes) & below.nodes;
    if (gone.empty()) return;
    below.nodes = below.nodes - gone;
    perform(fences_.below(child, below.nodes));
    detached.nodes = gone.nodes();
    up(Kind::detached, {bytes_of(encode(detached))});
}

void TreeRouter::on_child_end(int child, wire::LinkEnd const& end) {
    bool const in_order = farewell_ && end.cause == wire::LinkEnd::Cause::closed;
    if (in_order) children_.remove(child);
    else child_lost(child, end.text);
    if (farewell_) callbacks_.child_left();
}

void TreeRouter::child_lost(int child, std::string const& why) {
    auto const nodes = children_.at(child).nodes.nodes();
    auto const peer = children_.at(child).link->peer();
    children_.remove(child);
    perform(fences_.child_gone(child));
    up(Kind::detached, {bytes_of(encode(Detached{.child = child,
                                                 .nodes = nodes,
                                                 .why = why,
                                                 .process = peer.origin,
                                                 .incarnation = peer.epoch}))});
}

void TreeRouter::restart(std::uint32_t epoch, std::vector<int> const& members,
                         std::vector<int> const& parents) {
    fences_.restart(epoch, NodeSet(members));
    // Which nodes are below which child?
    std::map<int, std::vector<int>> below;
    for (auto const& [child, link] : children_) below[child] = {};
    for (int node = 0; node < static_cast<int>(parents.size()); ++node) {
        int top = node;
        while (top != root_node && !below.contains(top)) top = parents[top];
        if (top != root_node) below[top].push_back(node);
    }
    for (auto& [child, nodes] : below) {
        children_.at(child).nodes = NodeSet(std::move(nodes));
        perform(fences_.below(child, children_.at(child).nodes));
    }
}

void TreeRouter::on_parent_message(wire::Message const& message) {
    auto body = message.payload;
    auto const to = take_head<std::int32_t>(body);
    if (static_cast<Kind>(message.kind) == Kind::fence_down) {
        if (auto down = decode_down(body)) perform(fences_.from_parent(std::move(*down)));
        return;
    }
    if (static_cast<Kind>(message.kind) == Kind::attached) return on_attached();
    if (to == everyone) children_.broadcast(message.kind, message.payload);
    else if (to != config_.node) pass_down(to, message);
    if (to == everyone || to == config_.node)
        callbacks_.message(static_cast<Kind>(message.kind), body);
}

void TreeRouter::pass_down(int to, wire::Message const& message) {
    for (auto const& [child, below] : children_)
        if (below.nodes.contains(to)) below.link->send(message.kind, 0, {message.payload});
}

void TreeRouter::perform(FenceNode::Actions actions) {
    for (auto& action : actions) {
        if (auto const* up = std::get_if<FenceNode::Up>(&action)) {
            this->up(Kind::fence_up, {encode_up(*up)});
        } else if (auto const* down = std::get_if<FenceNode::Down>(&action)) {
            children_.send(*down);
        } else if (auto const* done = std::get_if<FenceNode::Done>(&action)) {
            callbacks_.fence_done(done->key, done->parts);
        } else if (auto const* failed = std::get_if<FenceNode::Failed>(&action)) {
            callbacks_.fence_failed(failed->key, failed->why);
        }
    }
}

}  // namespace sinew::launch
