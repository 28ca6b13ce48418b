// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "src/pool/master/worker_handle.hpp"
#include "src/pool/remote/relay.hpp"

namespace sinew::pool {

class RemotePort;

/// One of the other ranks of a pool over a communicator, as rank 0 sees it; the first rank of a node
/// has workers. With the runtime's guard held.
///
/// When its link ends, for whatever reason, its workers are not dead yet: it may be the network. No
/// word of theirs arrives any more, and they end when the host's lease is over; that is when they are
/// reported.
class RemoteNode : public std::enable_shared_from_this<RemoteNode> {
public:
    RemoteNode(wire::Loop& loop, std::unique_ptr<wire::Link> link, std::string host);
    RemoteNode(RemoteNode const&) = delete;
    ~RemoteNode();
    void begin();

    bool lost() const { return link_ == nullptr; }
    std::string const& host() const { return host_; }
    std::unique_ptr<WorkerHandle> start(std::uint32_t slot, WorkerStart const& start);
    /// The pool is gone: the rank may go, too.
    void over();

private:
    friend class RemotePort;
    void send(Relay kind, std::initializer_list<std::span<std::byte const>> parts);
    void flush();
    /// This worker has pieces to send.
    void want(std::uint64_t worker);
    void pump();
    void forget(std::uint64_t worker);

    void on_message(wire::Message const& message);
    void on_worker(Relay kind, RemotePort& port, std::span<std::byte const> body);
    void on_ended(RemotePort& port, std::span<std::byte const> body);
    void grant(std::span<std::byte const> body);
    void on_liveness(bool suspect);
    void on_end(std::string const& why);
    void report_dead(std::string const& why);

    wire::Loop& loop_;
    std::unique_ptr<wire::Link> link_;
    std::string const host_;
    std::map<std::uint64_t, RemotePort*> ports_;
    std::uint64_t next_worker_ = 1;
    std::deque<std::uint64_t> wanting_;  ///< take turns, a piece each
    bool full_ = false, over_ = false, suspect_ = false;
    wire::Clock::time_point granted_;  ///< the last lease, or the first chance of one
    wire::Loop::Handle lease_over_;
};

}  // namespace sinew::pool
