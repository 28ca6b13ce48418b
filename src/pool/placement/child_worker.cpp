// SPDX-License-Identifier: Apache-2.0
#include "src/pool/placement/child_worker.hpp"

#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include "src/base/bytes.hpp"
#include "src/base/text.hpp"
#include "src/pool/placement/bulk_sender.hpp"
#include "src/pool/placement/reassembler.hpp"
#include "src/process/child/remote_host.hpp"
#include "src/process/runtime.hpp"
#include "src/process/shared/shared_file.hpp"
#include "src/task/to_bytes.hpp"

namespace sinew::pool {
namespace {

constexpr std::size_t by_itself = std::size_t{32} << 10;  // bytes; larger messages are sent at once

// " on node-b": the end of the runtime's name for this process.
std::string host_suffix() {
    auto const& own = process::Runtime::instance().name();
    auto const at = own.find(" on ");
    return at == std::string::npos ? "" : own.substr(at);
}

/// A worker that is a child of this process or of an agent.
class ChildWorker final : public WorkerHandle {
public:
    ChildWorker(std::unique_ptr<process::Child> child, std::string host, bool maps_files)
        : child_(std::move(child)), host_(std::move(host)), maps_files_(maps_files),
          bulk_([this](auto head, auto bytes) {
              return child_->bulk().send(std::uint8_t(Kind::piece), 0, {head, bytes});
          }) {}

    void on(Callbacks callbacks) override {
        callbacks_ = std::move(callbacks);
        child_->on({.control =
                        [this](auto const& message) {
                            if (Kind(message.kind) == Kind::results_file)
                                return results_file(message.payload);
                            incoming_.control(Kind(message.kind), message.payload);
                        },
                    .bulk =
                        [this](auto const& message) {
                            try {
                                incoming_.piece(read_piece(message.kind, message.payload));
                            } catch (DecodeError const&) {
                                kill();
                            }
                        },
                    .bulk_drained = [this] { bulk_.go_on(); },
                    .liveness =
                        [this](wire::Liveness now) {
                            callbacks_.liveness(now == wire::Liveness::suspect);
                        },
                    .ended = [this](process::ChildEnd const& end) { ended(end); }});
    }
    void send(Kind kind, std::initializer_list<std::span<std::byte const>> parts) override {
        std::size_t size = 0;
        for (auto const part : parts) size += part.size();
        auto& link = child_->control();
        if (size < by_itself) link.send(std::uint8_t(kind), 0, parts);
        else link.send_now(std::uint8_t(kind), 0, parts);
    }
    void transfer(std::uint64_t id, std::span<std::byte const> bytes,
                  std::shared_ptr<void const> keep) override {
        bulk_.add(id, bytes, std::move(keep));
    }
    void flush() override { child_->control().flush(); }
    void kill() override { child_->signal(SIGKILL); }
    std::string name() const override {
        auto const pid = child_->pid();  // 0 until the agent has reported it
        return pid == 0 ? text("a worker", host_) : text("pid ", pid, host_);
    }

private:
    // The worker waits for the answer, so that no later message overtakes the results in the file.
    void results_file(std::span<std::byte const> body) {
        ResultsFileHead head{};
        if (!maps_files_ || body.size() != sizeof head) return kill();
        std::memcpy(&head, body.data(), sizeof head);
        auto const mapped = process::map_shared_file(head.file);
        MappedHead const answer{head.transfer, mapped ? 1U : 0U};
        child_->control().send_now(std::uint8_t(Kind::mapped), 0, {bytes_of(answer)});
        if (mapped) incoming_.control(Kind::results, mapped->bytes);
    }
    void ended(process::ChildEnd const& end) {
        auto const& status = child_->status();
        WorkerEnd const how{.process = end,
                            .verdict = Verdict(status.verdict.load()),
                            .running = status.running.load()};
        auto const callbacks = callbacks_;  // the callback may destroy this object
        callbacks.ended(how);
    }

    std::unique_ptr<process::Child> child_;
    std::string const host_;
    bool const maps_files_;
    Callbacks callbacks_;
    BulkSender bulk_;
    Reassembler incoming_{[this](Kind kind, auto body) { callbacks_.message(kind, body); }};
};

}  // namespace

std::unique_ptr<WorkerHandle> start_worker(Node const& node, std::optional<cpu_set_t> const& cpus,
                                           std::uint32_t slot, WorkerStart const& start) {
    auto order = start;
    if (node.is_here()) {
        // The kernel ends it with this process; if this process is only stopped (by Ctrl-Z, or a
        // debugger), the worker may continue later.
        order.lease_ms = 0;
        order.maps_files = start.meta.memory_mib == 0;  // otherwise the copy may exceed its limit
    }
    auto child = process::start_child(node, {.role = "pool worker",
                                             .name = text("sinew pool worker ", slot),
                                             .message = to_bytes(order),
                                             .cpus = cpus,
                                             .env = {},
                                             .meta = start.meta});
    return std::make_unique<ChildWorker>(std::move(child),
                                         node.is_here() ? host_suffix() : text(" on ", node.host()),
                                         order.maps_files);
}

}  // namespace sinew::pool
