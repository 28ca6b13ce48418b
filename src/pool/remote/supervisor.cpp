// SPDX-License-Identifier: Apache-2.0
#include "src/pool/remote/supervisor.hpp"

#include <csignal>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/pool/protocol.hpp"

namespace sinew::pool {

Supervisor::Supervisor(process::Runtime& runtime, std::unique_ptr<wire::Link> link, Setup setup)
    : runtime_(runtime), link_(std::move(link)), setup_(std::move(setup)) {}

Supervisor::~Supervisor() = default;

void Supervisor::begin() {
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
                       pump();
                   }});
    // The first lease: rank 0 counts it from when it reads this.
    lease_until_ = process::lease_clock_ns() + std::chrono::nanoseconds(lease).count();
    renewing_ = runtime_.loop().every(renewal, [this] {
        auto const self = shared_from_this();
        renew();
    });
}

void Supervisor::leave() {
    told_over_ = true;
    on_link_end("");
}

void Supervisor::wait_until_over() {
    std::unique_lock lock(runtime_.guard());
    changed_.wait(lock, [this] { return over_ || runtime_.over(); });
}

void Supervisor::send(Relay kind, std::initializer_list<std::span<std::byte const>> parts) {
    send_relayed(link_.get(), kind, parts, full_);
}

void Supervisor::on_message(wire::Message const& message) {
    auto const kind = static_cast<Relay>(message.kind);
    auto body = message.payload;
    if (kind == Relay::granted) return on_granted(body);
    if (kind == Relay::start) return start(body);
    if (kind == Relay::over) {
        told_over_ = true;
        return on_link_end("");
    }
    auto const head = take_head<WorkerHead>(body);
    if (!head || kind > Relay::over || kind < Relay::start)
        return on_link_end(text("a message of kind ", +message.kind));
    auto const found = workers_.find(head->worker);
    // It has ended meanwhile, or is as good as that.
    if (found == workers_.end() || found->second.end) return;
    on_worker_message(kind, found->second, body, head->worker);
}

void Supervisor::on_worker_message(Relay kind, Worker& worker, std::span<std::byte const> body,
                                   std::uint64_t number) {
    if (kind == Relay::kill) return worker.child->signal(SIGKILL);
    if (kind == Relay::tell) {
        auto const told = take_head<std::uint64_t>(body);
        if (told) worker.child->control().send(static_cast<std::uint8_t>(*told), 0, {body});
        return;
    }
    if (body.size() < sizeof(PieceHead)) return worker.child->signal(SIGKILL);
    worker.owed += body.size() - sizeof(PieceHead);
    auto const flow = worker.child->bulk().send(static_cast<std::uint8_t>(Kind::piece), 0, {body});
    if (flow == wire::Flow::full) return;
    send(Relay::taken, {head_bytes(TakenHead{number, std::exchange(worker.owed, 0)})});
}

void Supervisor::start(std::span<std::byte const> body) {
    auto const head = take_head<StartHead>(body);
    if (!head) return on_link_end("a message cut short");
    auto& worker = workers_[head->worker];
    process::ChildSpec spec;
    spec.role = "pool worker";
    spec.name = text("sinew pool worker ", head->slot);
    spec.message.assign(body.begin(), body.end());
    spec.cpus = setup_.cpus;
    spec.session = setup_.session;
    spec.network = link_->local_host();  // none where all ranks are on one host
    try {
        Reader reader(body);
        spec.meta = WorkerStart::decode_from(reader).meta;
        worker.child = process::start_child(spec);
    } catch (Error const& problem) {
        return on_ended(head->worker, {.code = 127, .log = problem.what()});
    }
    worker.child->status().lease_until = lease_until_;
    auto const pid = static_cast<std::uint64_t>(worker.child->pid());
    send(Relay::started, {head_bytes(StartedHead{head->worker, pid})});
    listen_to(head->worker);
}

void Supervisor::listen_to(std::uint64_t number) {
    auto& worker = workers_.at(number);
    worker.child->on(
        {.control =
             [this, number](wire::Message const& message) {
                 send(Relay::said,
                      {head_bytes(MessageHead{number, message.kind}), message.payload});
             },
         .bulk = [this,
                  number](wire::Message const& message) { on_piece(number, message.payload); },
         .bulk_drained =
             [this, number, &worker] {
                 auto const bytes = std::exchange(worker.owed, 0);
                 send(Relay::taken, {head_bytes(TakenHead{number, bytes})});
             },
         .liveness =
             [this, number](wire::Liveness now) {
                 std::uint64_t const suspect = now == wire::Liveness::suspect ? 1 : 0;
                 send(Relay::silent, {head_bytes(SilentHead{number, suspect})});
             },
         .ended =
             [this, number](process::ChildEnd const& end) {
                 auto const self = shared_from_this();
                 on_ended(number, end);
             }});
}

void Supervisor::on_piece(std::uint64_t number, std::span<std::byte const> piece) {
    auto& worker = workers_.at(number);
    worker.pieces.emplace_back(piece.begin(), piece.end());
    worker.held += piece.size();
    // Rank 0 is slower than the worker: it shall wait, and keep the rest.
    if (worker.held > relay_window) worker.child->hold_bulk(true);
    want(number);
}

void Supervisor::on_ended(std::uint64_t number, process::ChildEnd const& end) {
    auto const found = workers_.find(number);
    auto& worker = found->second;
    worker.end = EndedHead{.worker = number,
                           .code = end.code,
                           .signal = end.signal,
                           .out_of_memory = end.out_of_memory ? 1U : 0U,
                           .verdict = 0,
                           .running = nothing_running};
    worker.stderr_tail = end.why.empty() ? end.log : text(end.log, end.why, '\n');
    if (worker.child) {
        worker.end->verdict = worker.child->status().verdict.load();
        worker.end->running = worker.child->status().running.load();
    }
    if (worker.pieces.empty()) report_end(found);
}

// After all that it had said.
void Supervisor::report_end(Workers::iterator worker) {
    auto const& words = worker->second.stderr_tail;
    send(Relay::ended, {head_bytes(*worker->second.end), std::as_bytes(std::span(words))});
    workers_.erase(worker);
}

void Supervisor::want(std::uint64_t number) {
    if (std::exchange(workers_.at(number).wanting, true)) return;
    wanting_.push_back(number);
    pump();
}

void Supervisor::pump() {
    while (link_ && !full_ && !wanting_.empty()) {
        auto const number = wanting_.front();
        wanting_.pop_front();
        auto const found = workers_.find(number);
        if (found == workers_.end()) continue;
        auto& worker = found->second;
        send(Relay::said_piece, {head_bytes(WorkerHead{number}), worker.pieces.front()});
        auto const held = std::exchange(worker.held, worker.held - worker.pieces.front().size());
        if (held > relay_window / 2 && worker.held <= relay_window / 2)
            worker.child->hold_bulk(false);
        worker.pieces.pop_front();
        worker.wanting = !worker.pieces.empty();
        if (worker.wanting) wanting_.push_back(number);
        else if (worker.end) report_end(found);
    }
}

void Supervisor::renew() { send(Relay::renew, {head_bytes(LeaseHead{process::lease_clock_ns()})}); }

void Supervisor::on_granted(std::span<std::byte const> body) {
    auto const head = take_head<LeaseHead>(body);
    if (!head || head->asked_ns > process::lease_clock_ns()) return;  // nobody has asked for that
    lease_until_ = head->asked_ns + std::chrono::nanoseconds(lease).count();
    for (auto& [number, worker] : workers_)
        if (worker.child) worker.child->status().lease_until = lease_until_;
}

void Supervisor::on_link_end(std::string const& why) {
    if (!link_) return;
    if (!told_over_)
        log_warning(text("pool: rank 0 is lost (", why, "); the workers that rank ", setup_.rank,
                         " has started for it are ended"));
    workers_.clear();  // kills them
    wanting_.clear();
    renewing_ = {};
    close_in_order(std::move(link_));
    over_ = true;
    changed_.notify_all();
}

}  // namespace sinew::pool
