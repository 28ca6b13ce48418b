// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include <sinew/comm/transport.hpp>

#include "collectives/node_groups.hpp"
#include "src/node_memory/room.hpp"

namespace sinew::collectives {

class Channel;

/// Decides how an operation waits for its transfers and when such a wait fails.
class WaitPolicy {
public:
    virtual ~WaitPolicy() = default;
    /// Polls of a transfer before the first `idle`. Spinning helps only if a core is free.
    virtual int spins() const = 0;
    /// Called between further polls of a wait; `round` counts from 0. Spins, yields, sleeps or lets
    /// another operation run. Throws Timeout or PeerLost.
    virtual void idle(int round, Channel const& channel) = 0;
    /// The same for a word in shared memory, which no message announces. Returns how long the rank
    /// may sleep until the word's writer wakes it; see node_memory::Waiter.
    virtual std::chrono::nanoseconds idle_on_memory(int round, Channel const& channel) {
        idle(round, channel);
        return {};
    }
    /// Looks at such a word before the first `idle_on_memory`.
    virtual int spins_on_memory() const { return spins(); }
    /// Yields after these looks.
    virtual int yields_on_memory() const { return 0; }
    /// Describes this rank and its operation for errors: "rank 0 of 4 on node-a: barrier() #3". If
    /// it is empty, the channel names only the rank.
    virtual std::string subject() const { return {}; }
    /// Describes a rank for errors.
    virtual std::string name_of(int rank) const;
};

/// The messages of one operation over a Transport. The WaitPolicy bounds every wait. Empty messages
/// are not sent, because sender and receiver both know the size. Throws BackendError if a message
/// is shorter than its receive: the ranks are then not in the same call.
class Channel {
public:
    /// A transfer in progress; it borrows its buffer until it is done. Destroying it earlier
    /// cancels it, which happens only after the operation has failed.
    class Transfer {
    public:
        Transfer() = default;
        Transfer(Transfer&& other) noexcept
            : channel_(other.channel_), ticket_(std::exchange(other.ticket_, {})),
              peer_(other.peer_), expected_(other.expected_) {}
        Transfer& operator=(Transfer&& other) noexcept {
            std::swap(channel_, other.channel_);
            std::swap(ticket_, other.ticket_);
            std::swap(peer_, other.peer_);
            std::swap(expected_, other.expected_);
            return *this;
        }
        ~Transfer() {
            if (ticket_) channel_->transport_.cancel(ticket_);
        }
        void wait() {
            if (ticket_) channel_->wait(*this);
        }
        /// Whether it is done. Throws BackendError if the message has another length.
        bool test() {
            if (!ticket_) return true;
            Transport::Received received;
            if (!channel_->transport_.test(ticket_, &received)) return false;
            if (expected_ != is_send && received.bytes != expected_) [[unlikely]]
                channel_->refuse_length(peer_, expected_, received.bytes);
            return true;
        }

    private:
        friend class Channel;
        static constexpr std::size_t is_send = std::numeric_limits<std::size_t>::max();
        Transfer(Channel& channel, Transport::Ticket ticket, int peer, std::size_t expected)
            : channel_(&channel), ticket_(ticket), peer_(peer), expected_(expected) {}
        Channel* channel_ = nullptr;
        Transport::Ticket ticket_{};
        int peer_ = -1;
        std::size_t expected_ = is_send;  // expected bytes of a receive
    };

    Channel(Transport& transport, WaitPolicy& policy, int tag)
        : transport_(transport), policy_(policy), tag_(tag), rank_(transport.rank()),
          size_(transport.size()), spins_(policy.spins()) {}
    /// The part of `whole` between these ranks of it, which are numbered 0, 1, ... in this order. This
    /// rank must be one of them. Messages keep their order with those of `whole`, which must outlive this, as must `members`.
    Channel(Channel const& whole, std::span<int const> members);
    Channel(Channel const&) = delete;
    Channel& operator=(Channel const&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    /// The messages of the operation follow: an exception now leaves the ranks out of step.
    void begin() { begun_ = true; }
    bool begun() const { return begun_; }

    Transfer start_send(int to, std::span<std::byte const> bytes) {
        if (bytes.empty()) return {};
        return {*this, transport_.start_send(of_transport(to), tag_, bytes), to, Transfer::is_send};
    }
    Transfer start_receive(int from, std::span<std::byte> bytes) {
        if (bytes.empty()) return {};
        return {*this, transport_.start_receive(of_transport(from), tag_, bytes), from,
                bytes.size()};
    }
    void send(int to, std::span<std::byte const> bytes) { start_send(to, bytes).wait(); }
    void receive(int from, std::span<std::byte> bytes) { start_receive(from, bytes).wait(); }
    /// Sends and receives at the same time, so that a ring of callers cannot deadlock.
    void exchange(int to, std::span<std::byte const> out, int from, std::span<std::byte> in) {
        Transfer sending = start_send(to, out);
        start_receive(from, in).wait();
        sending.wait();
    }

    /// Sets the step for error texts ("at step 4 of 14"). Algorithms call it once per step.
    void step(int now, int of) {
        step_ = now;
        steps_ = of;
    }
    int current_step() const { return step_; }
    int steps() const { return steps_; }
    /// The rank (of the Transport) for which the current wait waits.
    int waiting_for() const { return waiting_for_; }
    /// Does one round of a wait in which the caller polls the transfers itself; see WaitPolicy.
    void idle(int round, int waiting_for) {
        waiting_for_ = of_transport(waiting_for);
        policy_.idle(round, *this);
    }
    int spins() const { return spins_; }

    /// The memory that all ranks of this channel share; null if they share none.
    node_memory::Room* room() const { return room_; }
    void use_room(node_memory::Room* room) { room_ = room; }
    /// The nodes of this channel, of which several share memory each; null if there is but one, or if
    /// a node's ranks share none.
    NodeGroups const* groups() const { return groups_; }
    void use_groups(NodeGroups const* groups) { groups_ = groups; }
    /// Waits for memory: of the room or, without one, of the group's.
    node_memory::Waiter& waiter() { return memory_waiter_; }
    /// Whether the Transport may still access cancelled buffers; they must not be freed.
    bool holds_cancelled_buffers() const { return transport_.holds_cancelled_buffers(); }

private:
    class MemoryWaiter final : public node_memory::Waiter {
    public:
        explicit MemoryWaiter(Channel& channel) : channel_(channel) {}
        int spins() const override { return channel_.policy_.spins_on_memory(); }
        int yields() const override { return channel_.policy_.yields_on_memory(); }
        std::chrono::nanoseconds idle(int round, int peer) override {
            channel_.waiting_for_ = rank_of(peer);
            return channel_.policy_.idle_on_memory(round, channel_);
        }
        [[noreturn]] void refuse(int peer) override { channel_.refuse_call(rank_of(peer)); }

    private:
        int rank_of(int peer) const {
            bool const of_all = channel_.room_ != nullptr || channel_.groups_ == nullptr;
            return of_all ? peer : channel_.groups_->rank_here(peer);
        }
        Channel& channel_;
    };

    int of_transport(int rank) const {
        return members_.empty() || rank < 0 ? rank : members_[static_cast<std::size_t>(rank)];
    }
    void wait(Transfer& transfer) {
        for (int i = 0; i < spins_; ++i)
            if (transfer.test()) return;
        for (int round = 0; !transfer.test(); ++round) idle(round, transfer.peer_);
    }
    [[noreturn]] void refuse_length(int from, std::size_t expected, std::size_t got) const;
    [[noreturn]] void refuse_call(int from) const;
    std::string subject() const;

    Transport& transport_;
    WaitPolicy& policy_;
    int tag_;
    std::span<int const> members_;  // their ranks in the Transport; empty: all
    int rank_;
    int size_;
    int spins_;
    int step_ = 0;
    int steps_ = 0;
    int waiting_for_ = -1;
    bool begun_ = false;
    node_memory::Room* room_ = nullptr;
    NodeGroups const* groups_ = nullptr;
    MemoryWaiter memory_waiter_{*this};
};

}  // namespace sinew::collectives
