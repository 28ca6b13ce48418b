// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <algorithm>

#include <csignal>
#include <cstring>
#include <optional>
#include <sinew/error.hpp>
#include <sinew/process.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/pool/master/bulk.hpp"
#include "src/pool/master/reassembler.hpp"
#include "src/pool/master/worker_handle.hpp"
#include "src/process/child/child.hpp"
#include "src/process/resources/reservation.hpp"
#include "src/process/runtime.hpp"

namespace sinew::pool {
namespace {

// Here, of each: two links, its standard error, its pidfd.
constexpr std::uint64_t descriptors_of_worker = 4;
constexpr std::size_t by_itself = std::size_t{32} << 10;  // not worth waiting for others

class LocalWorker final : public WorkerHandle {
public:
    LocalWorker(std::unique_ptr<process::Child> child, std::string name)
        : child_(std::move(child)), name_(std::move(name)), bulk_([this](auto head, auto bytes) {
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
    std::string const& name() const override { return name_; }

private:
    // The worker waits for the answer, so that nothing it says overtakes what lies in the file.
    void results_file(std::span<std::byte const> body) {
        ResultsFileHead head{};
        if (body.size() != sizeof head) return kill();
        std::memcpy(&head, body.data(), sizeof head);
        auto const mapped = process::map_shared_file(head.file);
        MappedHead const answer{head.transfer, mapped ? 1U : 0U};
        child_->control().send_now(std::uint8_t(Kind::mapped), 0,
                                   {std::as_bytes(std::span(&answer, 1))});
        if (mapped) incoming_.control(Kind::results, mapped->bytes);
    }
    void ended(process::ChildEnd const& end) {
        auto const& status = child_->status();
        // The one who ended us may destroy this object.
        auto const callbacks = callbacks_;
        callbacks.ended({.process = end,
                         .verdict = Verdict(status.verdict.load()),
                         .status_known = true,
                         .running = status.running.load(),
                         .why = {}});
    }

    std::unique_ptr<process::Child> child_;
    std::string name_;
    Callbacks callbacks_;
    BulkSender bulk_;
    Reassembler incoming_{[this](Kind kind, auto body) { callbacks_.message(kind, body); }};
};

class LocalPlacement final : public WorkerPlacement {
public:
    explicit LocalPlacement(std::optional<cpu_set_t> cpus) : cpus_(cpus) {}
    std::unique_ptr<WorkerHandle> start(std::uint32_t slot, WorkerStart const& start) override {
        // A child of the master: the kernel ends it with that, and one that is only stopped (by Ctrl-Z,
        // or a debugger) goes on later.
        auto local = start;
        local.lease_ms = 0;
        local.maps_files = start.meta.memory_mib == 0;  // else the copy might be too much for it
        Writer message;
        local.encode_to(message);
        process::ChildSpec spec;
        spec.role = "pool worker";
        spec.name = text("sinew pool worker ", slot);
        spec.message.assign(message.bytes().begin(), message.bytes().end());
        spec.cpus = cpus_;
        spec.meta = start.meta;
        auto child = process::start_child(spec);
        auto name = text("pid ", child->pid(), host_suffix());
        return std::make_unique<LocalWorker>(std::move(child), std::move(name));
    }
    void require_startable() const override {
        if (!process::was_init_called())
            throw UsageError(
                "a pool has no workers (sinew::init(argc, argv) was not called: they would run all "
                "of main). Make it the first statement of main");
    }
    std::uint64_t most() const override {
        rlimit files{};
        if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return WorkerPlacement::most();
        // A small pool that lacks descriptors goes on with the workers that it could start, and says so.
        return std::max(std::min<std::uint64_t>(files.rlim_cur, 1024),
                        files.rlim_cur / descriptors_of_worker);
    }
    int cores() const override { return cpu_count(); }
    int room(Meta const& wish) const override { return process::room_for(wish, cores()); }
    void require(Meta const& wish, int workers) const override {
        auto const who = workers == 1 ? std::string("a pool of 1 worker")
                                      : text("a pool of ", workers, " workers");
        process::require_possible(wish, who, workers, cpus_);
    }

private:
    // "pid 4711 on node-b": as the runtime calls this process, of which we take the end.
    static std::string host_suffix() {
        auto const& own = process::Runtime::instance().name();
        auto const at = own.find(" on ");
        return at == std::string::npos ? "" : own.substr(at);
    }
    std::optional<cpu_set_t> cpus_;
};

}  // namespace

std::unique_ptr<WorkerPlacement> make_local_placement(std::optional<cpu_set_t> cpus) {
    return std::make_unique<LocalPlacement>(cpus);
}

}  // namespace sinew::pool
