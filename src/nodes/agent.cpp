// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/agent.hpp"

#include <csignal>
#include <sinew/encoding.hpp>
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
        send(Word::renew, {0, static_cast<std::uint64_t>(process::lease_clock_ns())});
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
bool Agent::send(Word word, Head head, std::span<std::byte const> bytes) {
    if (!link_) return true;
    auto const flow = link_->send(static_cast<std::uint8_t>(word), 0, {bytes_of(head), bytes});
    full_ = full_ || flow == wire::Flow::full;
    return flow != wire::Flow::full;
}

void Agent::on_message(wire::Message const& message) {
    auto const word = static_cast<Word>(message.kind);
    auto body = message.payload;
    auto const head = take_head(body);
    if (!head || word < Word::start || word > Word::over)
        return on_link_end(text("a message of kind ", +message.kind, " that makes no sense"));
    if (word == Word::granted) return grant(static_cast<std::int64_t>(head->number));
    if (word == Word::start) return start(head->child, body);
    if (word == Word::over) {
        told_over_ = true;
        return on_link_end("");
    }
    on_word(word, *head, body);
}

void Agent::on_word(Word word, Head const& head, std::span<std::byte const> body) {
    auto const found = children_.find(head.child);
    if (found == children_.end()) return;  // it has ended meanwhile
    auto& [child, held, waits] = found->second;
    auto const kind = static_cast<std::uint8_t>(head.number);
    switch (word) {
        case Word::tell:
            child->control().send(kind, 0, {body});
            return child->control().flush();
        case Word::tell_bulk:
            child->bulk().send(kind, 0, {body});
            return;
        case Word::signal:
            return child->signal(static_cast<int>(head.number));
        case Word::hold:
            held = head.number != 0;
            return hold_where_full();
        case Word::drop:
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
        spec.family = setup_.family;
        spec.network = link_->local_host();  // none where all ranks are on one host
        spec.lease_until = lease_until_;
        auto child = process::start_child(spec);
        auto const pid = static_cast<std::uint64_t>(child->pid());
        children_[number].child = std::move(child);
        send(Word::started, {number, pid});
        listen_to(number);
    } catch (Error const& problem) {
        process::ChildEnd end;
        end.code = 127;
        end.fate = text("could not be started (", problem.what(), ")");
        send(Word::ended, {number, 0}, encode_end(end));
    }
}

void Agent::listen_to(std::uint64_t number) {
    children_.at(number).child->on(
        {.control =
             [this, number](wire::Message const& message) {
                 send(Word::said, {number, message.kind}, message.payload);
             },
         .bulk =
             [this, number](wire::Message const& message) {
                 // Rank 0 is slower than the child: it shall wait, and keep the rest.
                 if (!send(Word::said_bulk, {number, message.kind}, message.payload))
                     hold_where_full();
             },
         .liveness =
             [this, number](wire::Liveness now) {
                 send(Word::silent, {number, now == wire::Liveness::suspect ? 1U : 0U});
             },
         .ended =
             [this, number](process::ChildEnd const& end) {
                 auto const self = shared_from_this();
                 on_ended(number, end);
             }});
}

void Agent::on_ended(std::uint64_t number, process::ChildEnd const& end) {
    send(Word::ended, {number, 0}, encode_end(end));
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
