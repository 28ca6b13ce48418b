// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include <sinew/comm/transport.hpp>

#include "src/transport/connector.hpp"

namespace sinew {

namespace detail {
class SocketEngine;
struct SocketGroup;
}  // namespace detail

/// Transport over stream sockets between processes, with one connection per pair of ranks, made at
/// its first use. Thread-safe. Progress is made in test, probe and lost, not by a thread.
///
/// Messages up to 128 KiB are sent eagerly, within a window of 4 MiB per peer that the receiver has
/// not consumed; all others wait at the sender until the receive is posted. A peer thus holds at
/// most that window in this rank's memory, and 100 bytes per pending send. Bytes are written from
/// the sender's buffer, and read directly into the receiver's if the receive was posted first.
///
/// A rank counts as dead if its connection ends without a farewell, or its address refuses
/// connections. A rank that left in order counts as lost only while a transfer still waits for it.
class SocketTransport final : public Transport {
public:
    /// Connects all ranks of `connector`.
    explicit SocketTransport(std::unique_ptr<Connector> connector);
    ~SocketTransport() override;
    SocketTransport(SocketTransport const&) = delete;
    SocketTransport& operator=(SocketTransport const&) = delete;

    int rank() const override { return rank_; }
    int size() const override;
    std::string_view name() const override { return "socket"; }
    Threading threading() const override { return Threading::any; }
    int max_tag() const override;

    Ticket start_send(int to, int tag, std::span<std::byte const> bytes) override;
    Ticket start_receive(int from, int tag, std::span<std::byte> bytes) override;
    bool test(Ticket& ticket, Received* received) override;
    void cancel(Ticket& ticket) noexcept override;
    bool withdraw(Ticket& ticket) noexcept override;
    std::optional<Received> probe(int from, int tag) override;
    std::vector<int> lost() override;
    /// Needs no message: all members compute the same name for the group.
    std::unique_ptr<Transport> split(std::span<int const> members, std::uint64_t lane = 0) override;

private:
    SocketTransport(std::shared_ptr<detail::SocketEngine> engine,
                    std::shared_ptr<detail::SocketGroup> group);
    void check(int peer, int tag, char const* verb) const;
    int in_job(int rank) const;

    std::shared_ptr<detail::SocketEngine> engine_;
    std::shared_ptr<detail::SocketGroup> group_;
    int rank_;
};

}  // namespace sinew
