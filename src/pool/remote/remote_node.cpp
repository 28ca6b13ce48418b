// SPDX-License-Identifier: Apache-2.0
#include "src/pool/remote/remote_node.hpp"

#include <algorithm>
#include <sinew/task/codec.hpp>
#include <utility>
#include <vector>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/pool/remote/remote_port.hpp"

namespace sinew::pool {

RemoteNode::RemoteNode(wire::Loop& loop, std::unique_ptr<wire::Link> link, std::string host)
    : loop_(loop), link_(std::move(link)), host_(std::move(host)), granted_(wire::Clock::now()) {}

RemoteNode::~RemoteNode() = default;

void RemoteNode::begin() {
    link_->on({.message =
                   [this](wire::Message const& message) {
                       auto const self = shared_from_this();
                       on_message(message);
                   },
               .end =
                   [this](wire::LinkEnd const& end) {
                       auto const self = shared_from_this();
                       on_end(end.text);
                   },
               .liveness =
                   [this](wire::Liveness now) {
                       auto const self = shared_from_this();
                       on_liveness(now == wire::Liveness::suspect);
                   },
               .drained =
                   [this] {
                       auto const self = shared_from_this();
                       full_ = false;
                       pump();
                   }});
}

std::unique_ptr<WorkerHandle> RemoteNode::start(std::uint32_t slot, WorkerStart const& start) {
    auto const worker = next_worker_++;
    auto port = std::make_unique<RemotePort>(shared_from_this(), worker);
    ports_.emplace(worker, port.get());
    Writer message;
    start.encode_to(message);
    send(Relay::start, {head_bytes(StartHead{worker, slot}), message.bytes()});
    return port;
}

void RemoteNode::over() {
    over_ = true;
    if (!link_) return;
    send(Relay::over, {});
    close_in_order(std::move(link_));
}

void RemoteNode::send(Relay kind, std::initializer_list<std::span<std::byte const>> parts) {
    send_relayed(link_.get(), kind, parts, full_);
}

void RemoteNode::flush() {
    if (link_) link_->flush();
}

void RemoteNode::want(std::uint64_t worker) {
    auto const found = ports_.find(worker);
    if (found == ports_.end() || std::exchange(found->second->wanting_, true)) return;
    wanting_.push_back(worker);
    pump();
}

void RemoteNode::pump() {
    while (link_ && !full_ && !wanting_.empty()) {
        auto const worker = wanting_.front();
        wanting_.pop_front();
        auto const found = ports_.find(worker);
        if (found == ports_.end()) continue;
        auto& port = *found->second;
        port.wanting_ = port.send_piece();
        if (port.wanting_) wanting_.push_back(worker);
    }
}

void RemoteNode::forget(std::uint64_t worker) { ports_.erase(worker); }

void RemoteNode::on_message(wire::Message const& message) {
    auto const kind = static_cast<Relay>(message.kind);
    auto body = message.payload;
    if (kind == Relay::renew) return grant(body);
    if (kind < Relay::started || kind > Relay::ended)
        return on_end(text(link_->peer().name, ": a message of kind ", +message.kind));
    auto const head = take_head<WorkerHead>(body);
    if (!head) return on_end(text(link_->peer().name, ": a message cut short"));
    // What is still under way from one that was let go.
    auto const found = ports_.find(head->worker);
    if (found != ports_.end()) on_worker(kind, *found->second, body);
}

void RemoteNode::on_worker(Relay kind, RemotePort& port, std::span<std::byte const> body) {
    if (kind == Relay::said_piece) {
        if (!port.incoming_.piece(body)) port.kill();
        return;
    }
    if (kind == Relay::ended) return on_ended(port, body);
    auto const number = take_head<std::uint64_t>(body);
    if (!number) return port.kill();
    if (kind == Relay::said) port.incoming_.control(static_cast<Kind>(*number), body);
    else if (kind == Relay::started) port.started(*number);
    else if (kind == Relay::taken) port.taken(*number);
    else port.suspect(*number != 0);
}

void RemoteNode::on_ended(RemotePort& port, std::span<std::byte const> body) {
    EndedHead head{};
    if (body.size() < sizeof head - sizeof head.worker) return port.kill();
    std::memcpy(&head.code, body.data(), sizeof head - sizeof head.worker);
    body = body.subspan(sizeof head - sizeof head.worker);
    WorkerEnd end;
    end.process = {.code = head.code,
                   .signal = head.signal,
                   .out_of_memory = head.out_of_memory != 0,
                   .log = {reinterpret_cast<char const*>(body.data()), body.size()}};
    end.verdict = static_cast<Verdict>(head.verdict);
    end.running = head.running;
    ports_.erase(port.worker_);
    auto const callbacks = port.callbacks_;  // it may go within
    callbacks.ended(end);
}

void RemoteNode::grant(std::span<std::byte const> body) {
    granted_ = wire::Clock::now();
    send(Relay::granted, {body});
}

void RemoteNode::on_liveness(bool suspect) {
    suspect_ = suspect;
    auto const ports = ports_;
    for (auto const& [worker, port] : ports) port->node_suspect(suspect);
}

// The supervisor kills its workers when it notices; if the network is cut, or lets words through in
// one direction only, it does so when no lease is granted any more, and if it is stopped, its workers
// do so themselves. None was granted after `granted_`, and a lease counts from before that.
void RemoteNode::on_end(std::string const& why) {
    if (!link_) return;
    link_ = nullptr;
    wanting_.clear();
    if (over_) return;
    log_warning(
        text("pool: ", host_, " is lost (", why, ")",
             ports_.empty() ? "" : "; its workers are replaced when they have surely ended"));
    if (ports_.empty()) return;
    on_liveness(true);
    auto const left = granted_ + lease + lease_margin - wire::Clock::now();
    lease_over_ = loop_.after(std::max(left, wire::Clock::duration::zero()), [this, why] {
        auto const self = shared_from_this();
        report_dead(why);
    });
}

void RemoteNode::report_dead(std::string const& why) {
    auto const ports = std::exchange(ports_, {});
    for (auto const& [worker, port] : ports) {
        auto const callbacks = port->callbacks_;
        WorkerEnd end;
        end.status_known = false;
        end.why = text("its host is lost (", why, ")");
        callbacks.ended(end);
    }
}

}  // namespace sinew::pool
