// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/agent.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sinew/error.hpp>
#include <sinew/version.hpp>
#include <string_view>

#include "launchers/agent/descendants.hpp"
#include "launchers/agent/place.hpp"
#include "launchers/common/exit_codes.hpp"
#include "launchers/common/host_name.hpp"
#include "launchers/map/binding.hpp"
#include "launchers/tree/fence_codec.hpp"
#include "launchers/tree/tree.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// Picks the root's address from which ssh connected, since that is known to work; else the first.
std::size_t best_root(std::vector<std::string> const& roots) {
    char const* const connection = ::getenv("SSH_CONNECTION");  // "10.0.0.1 51234 10.0.0.2 22"
    if (connection == nullptr) return 0;
    std::string_view const words = connection;
    auto const host = std::string(words.substr(0, words.find(' ')));
    for (std::size_t i = 0; i < roots.size(); ++i)
        if (wire::Address::parse(roots[i]).host == host) return i;
    return 0;
}

}  // namespace

Agent::Agent(wire::Loop& loop, AgentConfig config, JobFolder const& folder)
    : loop_(loop), config_(std::move(config)),
      folder_(folder), credentials_{.secret = wire::Secret::from_hex(config_.secret),
                                    .self = {.node = static_cast<std::uint32_t>(config_.node),
                                             .slot = 0,
                                             .epoch = config_.incarnation,
                                             .name = text("agent on ", config_.name)}},
      fences_(config_.node) {
    try {
        place_ = place_of_this_node();
    } catch (UsageError const& problem) {
        // A wrong place affects only the order of the ranks, and must not fail the job.
        log_warning(text(config_.name, ": its place is not known: ", problem.what()));
    }
}

Agent::~Agent() = default;

int Agent::run() {
    if (config_.listen) listen();
    dial_until_ = wire::Clock::now() + std::chrono::milliseconds(config_.patience_ms);
    dial_root(best_root(config_.roots));
    orphans_ = loop_.every(std::chrono::seconds(5), [this] { reap_orphans(); });
    try {
        loop_.run();
    } catch (std::exception const& problem) {
        tell_failure(problem.what());
        throw;
    }
    job_.reset();
    return code_;
}

// Sends the cause to the root, so that `sinew run` reports it instead of a lost connection.
void Agent::tell_failure(std::string const& why) {
    if (!parent_) return;
    up(Kind::failing, {bytes_of(why)});
    parent_->flush();
}

void Agent::handle(Kind kind, std::span<std::byte const> body) {
    switch (kind) {
        case Kind::launch:
            return launch(decode<Launch>(text_of(body)));
        case Kind::finish:
            return finish();
        case Kind::stop: {
            if (job_) job_->stop(decode<Stop>(text_of(body)));
            return;
        }
        case Kind::signal: {
            auto const number = take_head<std::int32_t>(body);
            if (job_) job_->signal(number);
            return;
        }
        case Kind::input: {
            if (job_) job_->input(text_of(body));
            return;
        }
        case Kind::credit: {
            auto const bytes = take_head<std::int64_t>(body);
            if (job_) job_->credit(bytes);
            if (finishing_now_) finish_step();
            return;
        }
        default:
            return handle_mpi(kind, body);
    }
}

void Agent::handle_mpi(Kind kind, std::span<std::byte const> body) {
    auto* const mpi = job_ ? job_->mpi() : nullptr;
    if (mpi == nullptr) return;
    if (kind == Kind::modex) mpi->modex_wanted(take_head<ModexHead>(body));
    if (kind == Kind::modex_reply) {
        auto const head = take_head<ModexHead>(body);
        mpi->modex_arrived(head, body);
    }
    if (kind == Kind::name_reply) mpi->name_arrived(decode<NameReply>(text_of(body)));
}

void Agent::launch(Launch launch) {
    if (job_) {  // the ranks of its epoch have ended, but not all their descendants
        job_.reset();
        kill_descendants();
    }
    fences_.restart(launch.epoch, NodeSet(launch.agents));
    learn_tree(launch.parents);
    job_ = std::make_unique<NodeJob>(
        loop_, *this, folder_, NodeJob::Setting{.node_name = config_.name, .interface = interface_},
        std::move(launch));
    job_->start();
}

void Agent::finish() {
    finishing_now_ = true;
    if (job_) job_->stop({.signal = 0, .grace_ms = 0});
    // Kills all remaining processes, in any group: they may hold the pipes' write ends.
    if (auto const left = kill_descendants())
        up(Kind::notice, {bytes_of(text(left, " processes on ", config_.name,
                                        " could not be killed (uninterruptible sleep?)\n"))});
    finish_step();
}

// Waits until all output is delivered and all children have left, then sends `bye` to the parent.
void Agent::finish_step() {
    if (job_) job_->wind_up();
    if ((job_ && job_->has_output()) || !children_.empty() || !parent_) return;
    job_.reset();
    up(Kind::bye, {});
    parent_->close();
}

void Agent::leave() {
    if (finishing_now_ || leaving_) return;
    leaving_ = true;
    if (!parent_ && !job_) return end(128 + SIGTERM);  // no root to notify and no ranks to end
    up(Kind::leaving, {});
    // The root orders the rest. If it does not, the timer ends this agent.
    if (job_) job_->signal(SIGTERM);
    leave_timer_ = loop_.after(std::chrono::seconds(15), [this] { end(128 + SIGTERM); });
}

void Agent::give_up(std::string const& why) {
    log_warning(text("agent on ", config_.name, ": ", why));
    tell_failure(why);
    end(exit_launcher_failed);
    // Removes the root's folders on this host; if the root was killed, no other process does it.
    for (auto const& folder : config_.folders) remove_if_stale(folder);
}

void Agent::end(int code) {
    code_ = code;
    finishing_now_ = true;
    job_.reset();
    kill_descendants();
    loop_.stop();
}

void Agent::reap_orphans() {
    if (!job_) reap_adopted({});
    else reap_adopted(job_->pids());
}

// ---- the way up: the root and the parent --------------------------------------------------------

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

// ---- the way down: children and the tree --------------------------------------------------------

void Agent::listen() {
    bool const here = config_.roots.front().starts_with("unix:");
    auto const address = here ? wire::Address::unix_socket(folder_.path() + "/agent.sock")
                              : wire::Address::tcp("0.0.0.0", 0);
    listener_ =
        std::make_unique<wire::Listener>(loop_, address, credentials_, wire::Listener::Options{},
                                         [this](auto link) { on_child(std::move(link)); });
}

void Agent::on_child(std::unique_ptr<wire::Link> link) {
    int const child = static_cast<int>(link->peer().node);
    if (children_.contains(child))  // it reconnected before its loss was noticed
        child_lost(child, text(link->peer().name, " has connected again"));
    link->on({.message = [this, child](auto const& message) { on_child_message(child, message); },
              .end = [this, child](auto const& end) { on_child_end(child, end); }});
    children_[child] = {.link = std::move(link), .nodes = NodeSet({child})};
}

void Agent::on_child_message(int child, wire::Message const& message) {
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

void Agent::on_attach(int child, std::int32_t node, std::span<std::byte const> body) {
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
void Agent::on_detached(int child, Detached detached) {
    auto& below = children_.at(child);
    auto const gone = NodeSet(detached.nodes) & below.nodes;
    if (gone.empty()) return;
    below.nodes = below.nodes - gone;
    perform(fences_.below(child, below.nodes));
    detached.nodes = gone.nodes();
    up(Kind::detached, {bytes_of(encode(detached))});
}

void Agent::on_child_end(int child, wire::LinkEnd const& end) {
    bool const in_order = finishing_now_ && end.cause == wire::LinkEnd::Cause::closed;
    if (in_order) children_.erase(child);
    else child_lost(child, end.text);
    if (finishing_now_) finish_step();
}

void Agent::child_lost(int child, std::string const& why) {
    auto const nodes = children_.at(child).nodes.nodes();
    children_.erase(child);
    perform(fences_.child_gone(child));
    up(Kind::detached, {bytes_of(encode(Detached{.child = child, .nodes = nodes, .why = why}))});
}

// Computes which nodes are below which child, from the root's list of parents.
void Agent::learn_tree(std::vector<int> const& parents) {
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

void Agent::on_parent_message(wire::Message const& message) {
    auto body = message.payload;
    auto const to = take_head<std::int32_t>(body);
    if (static_cast<Kind>(message.kind) == Kind::fence_down) {
        if (auto down = decode_down(body)) perform(fences_.from_parent(std::move(*down)));
        return;
    }
    if (static_cast<Kind>(message.kind) == Kind::attached) return on_attached();
    if (to == everyone || to != config_.node) pass_down(message, to);
    if (to == everyone || to == config_.node) handle(static_cast<Kind>(message.kind), body);
}

void Agent::pass_down(wire::Message const& message, std::int32_t to) {
    for (auto& [child, below] : children_)
        if (to == everyone || below.nodes.contains(to))
            below.link->send(message.kind, 0, {message.payload});
}

void Agent::perform(FenceNode::Actions actions) {
    for (auto& action : actions) {
        if (auto const* up = std::get_if<FenceNode::Up>(&action)) {
            this->up(Kind::fence_up, {encode_up(*up)});
        } else if (auto const* down = std::get_if<FenceNode::Down>(&action)) {
            auto const bytes = encode_down(*down);
            std::int32_t const to = everyone;
            for (int const child : down->children)
                if (auto const found = children_.find(child); found != children_.end())
                    found->second.link->send(static_cast<std::uint8_t>(Kind::fence_down), 0,
                                             {bytes_of(to), bytes});
        } else if (auto const* done = std::get_if<FenceNode::Done>(&action)) {
            if (job_) job_->fence_done(done->key, done->parts);
        } else if (auto const* failed = std::get_if<FenceNode::Failed>(&action)) {
            if (job_) job_->fence_failed(failed->key, failed->why);
        }
    }
}

}  // namespace sinew::launch
