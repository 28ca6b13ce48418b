// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "src/nodes/protocol.hpp"
#include "src/nodes/round_robin_sender.hpp"
#include "src/process/runtime.hpp"

namespace sinew::nodes {

/// Serves rank 0's Nodes on another rank: starts processes of any role for it, and relays messages
/// between them and rank 0. None of them outlives the link to rank 0: when it ends they are killed,
/// and when their lease expires they end by themselves.
class Agent : public std::enable_shared_from_this<Agent> {
public:
    struct Setup {
        std::string name;               ///< for messages: "rank 3"
        wire::Secret session;           ///< rank 0's, which the children join
        std::optional<cpu_set_t> cpus;  ///< all that this node's ranks may use
        std::string master = "rank 0";  ///< for messages
        /// By lease_clock_ns: from when the first lease counts. 0: from begin().
        std::int64_t joined_at = 0;
    };
    Agent(process::Runtime& runtime, std::unique_ptr<wire::Link> link, Setup setup);
    Agent(Agent const&) = delete;
    ~Agent();

    // Requires: guard held.
    void begin();
    /// Ends its children and the link.
    void leave();
    /// The node is given back: kills its children, and leaves when rank 0 knows how they ended.
    void withdraw();
    /// Returns when rank 0 no longer needs it, or is lost. Requires: guard not held.
    void wait_until_over();
    process::Runtime& runtime() const { return runtime_; }

private:
    struct Kept {
        std::unique_ptr<process::Child> child;
        std::uint64_t to_acknowledge = 0;  ///< bytes of bulk messages for it
        bool held = false;                 ///< by order of rank 0
        bool paused = false;               ///< its bulk link is held, for either reason
    };
    void on_message(wire::Message const& message);
    void on_child_message(MessageKind kind, Head const& head, std::span<std::byte const> body);
    void start(std::uint64_t number, std::span<std::byte const> body);
    void listen_to(std::uint64_t number);
    void on_bulk(std::uint64_t number, wire::Message const& message);
    void on_ended(std::uint64_t number, process::ChildEnd const& end);
    void acknowledge(std::uint64_t number);
    void grant(std::int64_t asked);
    void pause_or_resume(std::uint64_t number, Kept& kept);
    void on_link_end(std::string const& why);

    process::Runtime& runtime_;
    RoundRobinSender sender_;
    Setup const setup_;
    std::map<std::uint64_t, Kept> children_;
    std::int64_t lease_until_ = 0;
    bool told_over_ = false, withdrawing_ = false, over_ = false;
    wire::Loop::Handle renewing_;
    std::condition_variable changed_;
};

/// Owns the agent of a rank other than 0. The destructor makes it leave, on the loop's thread.
class Served {
public:
    explicit Served(std::shared_ptr<Agent> agent) : agent_(std::move(agent)) {}
    Served(Served const&) = delete;
    ~Served() {
        agent_->runtime().loop().post([agent = agent_] { agent->leave(); });
    }
    Agent& agent() const { return *agent_; }

private:
    std::shared_ptr<Agent> const agent_;
};

}  // namespace sinew::nodes
