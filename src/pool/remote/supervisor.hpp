// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/pool/remote/relay.hpp"
#include "src/process/child/start_child.hpp"
#include "src/process/runtime.hpp"

namespace sinew::pool {

/// What a rank other than 0 does for a pool over a communicator: starts workers when rank 0 says so,
/// and passes on what they and rank 0 say to each other. None of its workers outlives the link to
/// rank 0 for long: without it they are killed, and without granted leases they end by themselves.
class Supervisor : public std::enable_shared_from_this<Supervisor> {
public:
    struct Setup {
        int rank = 0;
        wire::Secret session;           ///< rank 0's, of which the workers are
        std::optional<cpu_set_t> cpus;  ///< all that this node's ranks may use
    };
    Supervisor(process::Runtime& runtime, std::unique_ptr<wire::Link> link, Setup setup);
    Supervisor(Supervisor const&) = delete;
    ~Supervisor();

    /// With the guard held.
    void begin();
    /// Ends its workers and the link. With the guard held.
    void leave();
    /// Until rank 0 has no pool any more, or is lost. Without the guard.
    void wait_until_over();
    process::Runtime& runtime() const { return runtime_; }

private:
    struct Worker {
        std::unique_ptr<process::Child> child;
        std::deque<std::vector<std::byte>> pieces;  ///< for rank 0
        std::size_t held = 0;                       ///< their bytes
        std::uint64_t owed = 0;                     ///< bytes it has not taken yet
        std::optional<EndedHead> end;
        std::string stderr_tail;
        bool wanting = false;
    };
    using Workers = std::map<std::uint64_t, Worker>;

    void send(Relay kind, std::initializer_list<std::span<std::byte const>> parts);
    void on_message(wire::Message const& message);
    void on_worker_message(Relay kind, Worker& worker, std::span<std::byte const> body,
                           std::uint64_t number);
    void start(std::span<std::byte const> body);
    void listen_to(std::uint64_t number);
    void on_piece(std::uint64_t number, std::span<std::byte const> piece);
    void on_ended(std::uint64_t number, process::ChildEnd const& end);
    void report_end(Workers::iterator worker);
    void want(std::uint64_t number);
    void pump();
    void renew();
    void on_granted(std::span<std::byte const> body);
    void on_link_end(std::string const& why);

    process::Runtime& runtime_;
    std::unique_ptr<wire::Link> link_;
    Setup const setup_;
    Workers workers_;
    std::deque<std::uint64_t> wanting_;  ///< take turns, a piece each
    std::int64_t lease_until_ = 0;
    bool full_ = false, told_over_ = false, over_ = false;
    wire::Loop::Handle renewing_;
    std::condition_variable changed_;
};

}  // namespace sinew::pool
