// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/node_agent.hpp"

#include <csignal>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::nodes {

Agent::Agent(process::Runtime& runtime, std::unique_ptr<wire::Link> link, Setup setup)
    : runtime_(runtime), sender_(std::move(link)), setup_(std::move(setup)) {}

Agent::~Agent() = default;

void Agent::begin() {
    sender_.link()->on({.message =
                            [this](wire::Message const& message) {
                                auto const self = shared_from_this();
                                on_message(message);
                            },
                        .end =
                            [this](wire::LinkEnd const& end) {
                                auto const self = shared_from_this();
                                on_link_end(end.text);
                            },
                        .drained =
                            [this] {
                                auto const self = shared_from_this();
                                sender_.drained();
                                for (auto& [number, kept] : children_)
                                    pause_or_resume(number, kept);
                            }});
    // The first lease begins without a grant. Rank 0 counts it from when it accepted the link.
    auto const from = setup_.joined_at != 0 ? setup_.joined_at : process::lease_clock_ns();
    lease_until_ = from + std::chrono::nanoseconds(lease).count();
    renewing_ = runtime_.loop().every(renewal, [this] {
        auto const self = shared_from_this();
        sender_.send(MessageKind::renew,
                     {0, static_cast<std::uint64_t>(process::lease_clock_ns())});
    });
}

void Agent::leave() {
    told_over_ = true;
    on_link_end("");
}

void Agent::withdraw() {
    if (!sender_.link() || std::exchange(withdrawing_, true)) return;
    told_over_ = true;
    sender_.send(MessageKind::leaving, {});
    if (children_.empty()) return on_link_end("");
    for (auto& [number, kept] : children_) kept.child->signal(SIGKILL);
}

void Agent::wait_until_over() {
    std::unique_lock lock(runtime_.guard());
    changed_.wait(lock, [this] { return over_ || runtime_.over(); });
}

void Agent::on_message(wire::Message const& message) {
    auto const kind = static_cast<MessageKind>(message.kind);
    auto body = message.payload;
    auto const head = take_value<Head>(body);
    if (!head || kind < MessageKind::start || kind > MessageKind::over)
        return on_link_end(text("a message of kind ", +message.kind, " that is not valid"));
    if (kind == MessageKind::granted) return grant(static_cast<std::int64_t>(head->number));
    if (kind == MessageKind::start) return start(head->child, body);
    if (kind == MessageKind::over) {
        told_over_ = true;
        return on_link_end("");
    }
    on_child_message(kind, *head, body);
}

void Agent::on_child_message(MessageKind kind, Head const& head, std::span<std::byte const> body) {
    auto const found = children_.find(head.child);
    if (found == children_.end()) return;  // it has ended meanwhile
    auto& kept = found->second;
    auto& child = *kept.child;
    auto const number = static_cast<std::uint8_t>(head.number);
    switch (kind) {
        case MessageKind::to_control:
            child.control().send(number, 0, {body});
            return child.control().flush();
        case MessageKind::to_bulk:
            kept.to_acknowledge += body.size();
            if (child.bulk().send(number, 0, {body}) != wire::Flow::full) acknowledge(head.child);
            return;
        case MessageKind::signal:
            return child.signal(static_cast<int>(head.number));
        case MessageKind::hold:
            kept.held = head.number != 0;
            return pause_or_resume(head.child, kept);
        case MessageKind::drop:
            sender_.forget(head.child);
            children_.erase(found);  // kills it
            return;
        default:
            return;
    }
}

void Agent::start(std::uint64_t number, std::span<std::byte const> body) {
    if (!sender_.link() || withdrawing_ || children_.contains(number)) return;
    try {
        auto spec = decode_start(body);
        spec.cpus = setup_.cpus;
        spec.session = setup_.session;
        spec.network = sender_.link()->local_host();  // empty if all ranks are on one host
        spec.lease_until = lease_until_;
        auto child = process::start_child(spec);
        auto const pid = static_cast<std::uint64_t>(child->pid());
        children_[number].child = std::move(child);
        sender_.send(MessageKind::started, {number, pid});
        listen_to(number);
    } catch (Error const& problem) {
        process::ChildEnd end;
        end.code = 127;
        end.fate = text("could not be started (", problem.what(), ")");
        sender_.send(MessageKind::ended, {number, 0}, {encode_ending({.end = end})});
    }
}

void Agent::listen_to(std::uint64_t number) {
    children_.at(number).child->on(
        {.control =
             [this, number](wire::Message const& message) {
                 sender_.send(MessageKind::from_control, {number, message.kind}, {message.payload});
             },
         .bulk = [this, number](wire::Message const& message) { on_bulk(number, message); },
         .bulk_drained = [this, number] { acknowledge(number); },
         .liveness =
             [this, number](wire::Liveness now) {
                 sender_.send(MessageKind::suspect,
                              {number, now == wire::Liveness::suspect ? 1U : 0U});
             },
         .ended =
             [this, number](process::ChildEnd const& end) {
                 auto const self = shared_from_this();
                 on_ended(number, end);
             }});
}

// Pauses the child's link if rank 0 receives more slowly than the child sends.
void Agent::on_bulk(std::uint64_t number, wire::Message const& message) {
    sender_.send_in_turn(MessageKind::from_bulk, {number, message.kind}, {message.payload});
    auto const found = children_.find(number);
    if (found != children_.end()) pause_or_resume(number, found->second);
}

void Agent::on_ended(std::uint64_t number, process::ChildEnd const& end) {
    auto const& status = children_.at(number).child->status();
    sender_.send_in_turn(
        MessageKind::ended, {number, 0},
        {encode_ending(
            {.end = end, .running = status.running.load(), .verdict = status.verdict.load()})});
    children_.erase(number);
    if (withdrawing_ && children_.empty()) on_link_end("");
}

void Agent::acknowledge(std::uint64_t number) {
    auto const found = children_.find(number);
    if (found == children_.end() || found->second.to_acknowledge == 0) return;
    sender_.send(MessageKind::acknowledged,
                 {number, std::exchange(found->second.to_acknowledge, 0)});
}

void Agent::grant(std::int64_t asked) {
    if (asked > process::lease_clock_ns()) return;  // this agent has not requested it
    lease_until_ = asked + std::chrono::nanoseconds(lease).count();
    for (auto& [number, kept] : children_) kept.child->status().lease_until = lease_until_;
}

void Agent::pause_or_resume(std::uint64_t number, Kept& kept) {
    auto const limit = kept.paused ? bulk_window / 2 : bulk_window;
    bool const pause = kept.held || sender_.waiting(number) > limit;
    if (std::exchange(kept.paused, pause) != pause) kept.child->hold_bulk(pause);
}

void Agent::on_link_end(std::string const& why) {
    if (!sender_.link()) return;
    if (!told_over_)
        log_warning(text(setup_.master, " is lost (", why, "); what ", setup_.name,
                         " has started for it is stopped"));
    children_.clear();  // kills them
    renewing_ = {};
    close_in_order(sender_.release());
    over_ = true;
    changed_.notify_all();
}

}  // namespace sinew::nodes
