// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstring>

#include <deque>
#include <optional>
#include <sinew/process.hpp>
#include <utility>
#include <vector>

#include "src/base/text.hpp"
#include "src/pool/bulk.hpp"
#include "src/pool/worker_port.hpp"
#include "src/process/runtime.hpp"

namespace sinew::pool {
namespace {

class LocalPort final : public WorkerPort {
public:
    LocalPort(std::unique_ptr<process::Child> child, std::string name)
        : child_(std::move(child)), name_(std::move(name)), bulk_([this](auto head, auto bytes) {
              return child_->bulk().send(std::uint8_t(Kind::piece), 0, {head, bytes});
          }) {}

    void on(Callbacks callbacks) override {
        callbacks_ = std::move(callbacks);
        child_->on({.control = [this](auto const& message) { control(message); },
                    .bulk =
                        [this](auto const& message) {
                            if (!incoming_.piece(message.payload)) kill();
                        },
                    .bulk_drained = [this] { bulk_.go_on(); },
                    .liveness =
                        [this](wire::Liveness now) {
                            callbacks_.liveness(now == wire::Liveness::suspect);
                        },
                    .ended = [this](process::ChildEnd const& end) { ended(end); }});
    }
    void send(Kind kind, std::initializer_list<std::span<std::byte const>> parts) override {
        child_->control().send(std::uint8_t(kind), 0, parts);
    }
    void transfer(std::uint64_t id, std::span<std::byte const> bytes,
                  std::shared_ptr<void const> keep) override {
        bulk_.add(id, bytes, std::move(keep));
    }
    void flush() override { child_->control().flush(); }
    void kill() override { child_->signal(SIGKILL); }
    std::string const& name() const override { return name_; }

private:
    // Messages keep their order: those behind a transfer that is still coming in wait for it.
    void control(wire::Message const& message) {
        if (!held_.empty()) {
            held_.push_back({Kind(message.kind), {message.payload.begin(), message.payload.end()}});
            return;
        }
        if (!deliver(Kind(message.kind), message.payload))
            held_.push_back({Kind(message.kind), {message.payload.begin(), message.payload.end()}});
    }
    // False: it has to wait.
    bool deliver(Kind kind, std::span<std::byte const> body) {
        ResultsHead head{};
        if (kind == Kind::results && body.size() >= sizeof head)
            std::memcpy(&head, body.data(), sizeof head);
        if (head.transfer == 0) {
            callbacks_.message(kind, body);
            return true;
        }
        incoming_.when_complete(head.transfer, [this, head](std::span<std::byte const> bytes) {
            std::vector<std::byte> whole(sizeof head + bytes.size());
            std::memcpy(whole.data(), &head, sizeof head);
            std::memcpy(whole.data() + sizeof head, bytes.data(), bytes.size());
            arrived_ = std::move(whole);
            if (!held_.empty()) deliver_held();
        });
        if (!arrived_) return false;
        callbacks_.message(Kind::results, *std::exchange(arrived_, std::nullopt));
        return true;
    }
    // The first of those that wait has come in.
    void deliver_held() {
        callbacks_.message(Kind::results, *std::exchange(arrived_, std::nullopt));
        held_.pop_front();
        while (!held_.empty() && deliver(held_.front().kind, held_.front().body)) held_.pop_front();
    }
    void ended(process::ChildEnd const& end) {
        auto const& status = child_->status();
        // The one who ended us may destroy this object.
        auto const callbacks = callbacks_;
        callbacks.ended({.process = end,
                         .verdict = Verdict(status.verdict.load()),
                         .status_known = true,
                         .running = status.running.load()});
    }

    std::unique_ptr<process::Child> child_;
    std::string name_;
    Callbacks callbacks_;
    BulkSender bulk_;
    struct Held {
        Kind kind;
        std::vector<std::byte> body;
    };
    BulkReceiver incoming_;
    std::optional<std::vector<std::byte>> arrived_;  ///< a whole message, to be delivered now
    std::deque<Held> held_;
};

class LocalPlaces final : public Places {
public:
    std::unique_ptr<WorkerPort> start(std::uint32_t slot, WorkerStart const& start) override {
        Writer message;
        start.encode_to(message);
        process::ChildSpec spec;
        spec.role = "pool worker";
        spec.name = text("sinew pool worker ", slot);
        spec.message.assign(message.bytes().begin(), message.bytes().end());
        auto child = process::start_child(spec);
        auto name = text("pid ", child->pid(), host_suffix());
        return std::make_unique<LocalPort>(std::move(child), std::move(name));
    }
    int cores() const override { return cpu_count(); }

private:
    // "pid 4711 on node-b": as the runtime calls this process, of which we take the end.
    static std::string host_suffix() {
        auto const& own = process::Runtime::instance().name();
        auto const at = own.find(" on ");
        return at == std::string::npos ? "" : own.substr(at);
    }
};

}  // namespace

std::unique_ptr<Places> make_local_places() { return std::make_unique<LocalPlaces>(); }

}  // namespace sinew::pool
