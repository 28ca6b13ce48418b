// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/node_agent.hpp"

#include <csignal>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::nodes {

Agent::Agent(process::Runtime& runtime, std::unique_ptr<wire::Link> link, Setup setup)
    : runtime_(runtime), link_(std::move(link)), setup_(std::move(setup)) {}

Agent::~Agent() = default;

void Agent::begin() {
    link_->on({.message =
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
                       full_ = false;
                       hold_where_full();
                   }});
    lease_until_ = process::lease_clock_ns() + std::chrono::nanoseconds(lease).count();
    renewing_ = runtime_.loop().every(renewal, [this] {
        auto const self = shared_from_this();
        send(MessageKind::renew, {0, static_cast<std::uint64_t>(process::lease_clock_ns())});
    });
}

void Agent::leave() {
    told_over_ = true;
    on_link_end("");
}

void Agent::wait_until_over() {
    std::unique_lock lock(runtime_.guard());
    changed_.wait(lock, [this] { return over_; });
}

// False: the link has enough now.
bool Agent::send(MessageKind word, Head head, std::span<std::byte const> bytes) {
    if (!link_) return true;
    auto const flow = link_->send(static_cast<std::uint8_t>(word), 0, {bytes_of(head), bytes});
    full_ = full_ || flow == wire::Flow::full;
    return flow != wire::Flow::full;
}

void Agent::on_message(wire::Message const& message) {
    auto const word = static_cast<MessageKind>(message.kind);
    auto body = message.payload;
    auto const head = take_head(body);
    if (!head || word < MessageKind::start || word > MessageKind::over)
        return on_link_end(text("a message of kind ", +message.kind, " that makes no sense"));
    if (word == MessageKind::granted) return grant(static_cast<std::int64_t>(head->number));
    if (word == MessageKind::start) return start(head->child, body);
    if (word == MessageKind::over) {
        told_over_ = true;
        return on_link_end("");
    }
    on_word(word, *head, body);
}

void Agent::on_word(MessageKind word, Head const& head, std::span<std::byte const> body) {
    auto const found = children_.find(head.child);
    if (found == children_.end()) return;  // it has ended meanwhile
    auto& [child, held, waits] = found->second;
    auto const kind = static_cast<std::uint8_t>(head.number);
    switch (word) {
        case MessageKind::tell:
            child->control().send(kind, 0, {body});
            return child->control().flush();
        case MessageKind::tell_bulk:
            child->bulk().send(kind, 0, {body});
            return;
        case MessageKind::signal:
            return child->signal(static_cast<int>(head.number));
        case MessageKind::hold:
            held = head.number != 0;
            return hold_where_full();
        case MessageKind::drop:
            children_.erase(found);  // kills it
            return;
        default:
            return;
    }
}

void Agent::start(std::uint64_t number, std::span<std::byte const> body) {
    if (children_.contains(number)) return;
    try {
        auto spec = decode_start(body);
        spec.cpus = setup_.cpus;
        spec.session = setup_.session;
        spec.network = link_->local_host();  // none where all ranks are on one host
        spec.lease_until = lease_until_;
        auto child = process::start_child(spec);
        auto const pid = static_cast<std::uint64_t>(child->pid());
        children_[number].child = std::move(child);
        send(MessageKind::started, {number, pid});
        listen_to(number);
    } catch (Error const& problem) {
        process::ChildEnd end;
        end.code = 127;
        end.fate = text("could not be started (", problem.what(), ")");
        send(MessageKind::ended, {number, 0}, encode_end(end));
    }
}

void Agent::listen_to(std::uint64_t number) {
    children_.at(number).child->on(
        {.control =
             [this, number](wire::Message const& message) {
                 send(MessageKind::said, {number, message.kind}, message.payload);
             },
         .bulk =
             [this, number](wire::Message const& message) {
                 // Rank 0 is slower than the child: it shall wait, and keep the rest.
                 if (!send(MessageKind::said_bulk, {number, message.kind}, message.payload))
                     hold_where_full();
             },
         .liveness =
             [this, number](wire::Liveness now) {
                 send(MessageKind::silent, {number, now == wire::Liveness::suspect ? 1U : 0U});
             },
         .ended =
             [this, number](process::ChildEnd const& end) {
                 auto const self = shared_from_this();
                 on_ended(number, end);
             }});
}

void Agent::on_ended(std::uint64_t number, process::ChildEnd const& end) {
    send(MessageKind::ended, {number, 0}, encode_end(end));
    children_.erase(number);
}

void Agent::grant(std::int64_t asked) {
    if (asked > process::lease_clock_ns()) return;  // nobody has asked for that yet
    lease_until_ = asked + std::chrono::nanoseconds(lease).count();
    for (auto& [number, kept] : children_) kept.child->status().lease_until = lease_until_;
}

void Agent::hold_where_full() {
    for (auto& [number, kept] : children_) {
        bool const wait = kept.held || full_;
        if (std::exchange(kept.waits, wait) != wait) kept.child->hold_bulk(wait);
    }
}

void Agent::on_link_end(std::string const& why) {
    if (!link_) return;
    if (!told_over_)
        log_warning(text("rank 0 is lost (", why, "); what rank ", setup_.rank,
                         " has started for it is ended"));
    children_.clear();  // kills them
    renewing_ = {};
    close_in_order(std::move(link_));
    over_ = true;
    changed_.notify_all();
}

}  // namespace sinew::nodes
