// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <sinew/comm/transport.hpp>

namespace sinew {

namespace detail {
class ThreadContext;
class ThreadJob;
}  // namespace detail

/// The state that the ranks of one process share: their inboxes, and which ranks are lost. Make one
/// hub, then a ThreadTransport per rank. Thread-safe; the transports may outlive it.
class ThreadHub {
public:
    explicit ThreadHub(int ranks);

    int size() const;
    /// Marks a rank as lost: `lost()` of every transport that contains it reports it. Messages that
    /// it has sent can still be received; sends that it has only started must be cancelled.
    void lose(int rank);

private:
    friend class ThreadTransport;
    std::shared_ptr<detail::ThreadJob> job_;
    std::shared_ptr<detail::ThreadContext> context_;
};

/// Transport between threads of one process. Short messages are copied, and their sends are done at
/// once (start_send returns a null ticket). Longer ones wait for the receive and are copied once,
/// from buffer to buffer, by the side that comes second.
class ThreadTransport final : public Transport {
public:
    /// Longest message whose send does not wait for the receive.
    static constexpr std::size_t eager_bytes = 4096;

    ThreadTransport(ThreadHub& hub, int rank);
    ~ThreadTransport() override;

    int rank() const override { return rank_; }
    int size() const override;
    std::string_view name() const override { return "threads"; }
    Threading threading() const override { return Threading::any; }
    int max_tag() const override;

    Ticket start_send(int to, int tag, std::span<std::byte const> bytes) override;
    Ticket start_receive(int from, int tag, std::span<std::byte> bytes) override;
    bool test(Ticket& ticket, Received* received) override;
    void cancel(Ticket& ticket) noexcept override;
    bool withdraw(Ticket& ticket) noexcept override;
    std::optional<Received> probe(int from, int tag) override;
    std::vector<int> lost() override;
    std::unique_ptr<Transport> split(std::span<int const> members, std::uint64_t lane = 0) override;

private:
    ThreadTransport(std::shared_ptr<detail::ThreadContext> context, int rank);
    void check(int peer, int tag, char const* verb) const;

    std::shared_ptr<detail::ThreadContext> context_;
    int rank_;
};

}  // namespace sinew
