// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <sinew/comm/transport.hpp>

#include "src/base/waiting/tcp_answers.hpp"
#include "src/transport/connector.hpp"
#include "src/transport/socket_groups.hpp"
#include "src/transport/socket_stream.hpp"

namespace sinew::detail {

/// The state that all SocketTransports of a job share in a rank: connections, groups and their
/// lock. A call that tests a transfer or probes makes progress for all transports. Thread-safe.
class SocketEngine final : SocketStream::Reader {
public:
    using Group = SocketGroups::Group;

    explicit SocketEngine(std::unique_ptr<Connector> connector);
    SocketEngine(SocketEngine const&) = delete;
    SocketEngine& operator=(SocketEngine const&) = delete;
    /// Notifies the peers that this rank leaves in order.
    ~SocketEngine() override;

    Group world();
    Group split(SocketGroup& parent, std::vector<int> members);
    void leave(SocketGroup& group);
    int rank() const { return me_; }

    // Peers are ranks of the job. A null Send is done already.
    std::unique_ptr<Send> start_send(SocketGroup& group, int to, int tag,
                                     std::span<std::byte const> bytes);
    std::unique_ptr<Receive> start_receive(SocketGroup& group, int from, int tag,
                                           std::span<std::byte> bytes);
    /// Makes progress for all transfers, unless another thread holds the lock.
    void progress();
    void cancel(Transfer& transfer) noexcept;
    /// Removes an unmatched receive and returns true; returns false for all other transfers.
    bool withdraw(Transfer& transfer) noexcept;
    std::optional<Transport::Received> probe(SocketGroup& group, int from, int tag);
    std::vector<int> lost(SocketGroup const& group);

private:
    Sink arrived(SocketStream& stream, Frame const& frame) override;
    void complete(SocketStream& stream, Sink const& sink) override;

    // socket_matching.cpp
    Sink take_message(SocketStream& stream, Frame const& frame);
    void take_announcement(SocketStream& stream, Frame const& frame);
    Sink take_data(SocketStream& stream, Frame const& frame);
    void take_withdrawal(SocketStream& stream, Frame const& frame);
    void match(SocketGroup& group, Receive& receive);
    bool claim(UnexpectedMessage& message, Receive& receive);
    bool claim_copy(UnexpectedMessage& message, Receive& receive);
    void clear(SocketStream& stream, std::uint64_t id, Receive& receive);
    void consume(SocketStream& stream, std::size_t bytes);
    void answer_unwanted(UnexpectedMessage& message);
    void finish(Receive& receive);
    bool send_to_self(SocketGroup& group, Send& send);
    void cancel_receive(Receive& receive);
    void cancel_send(Send& send);

    SocketStream& stream(int rank) { return *streams_[static_cast<std::size_t>(rank)]; }
    void post(SocketStream& stream, Frame::Kind kind, std::uint64_t id, std::uint64_t bytes = 0);
    void want(SocketStream& stream);
    void progress_locked();
    void connect_some();
    void serve(SocketStream& stream, std::uint32_t events);
    void flush(SocketStream& stream);
    void flush_posted();
    void watch(SocketStream& stream, bool added);
    void lose(SocketStream& stream, std::string const& why);
    /// Loses the peers whose hosts have been silent for host_gone_after. Checks once a second.
    void lose_silent_hosts();
    void drop_unfetched(SocketStream& stream);
    bool is_awaited(SocketGroup const& group, int rank);
    void say_farewell() noexcept;

    std::mutex mutex_;
    std::unique_ptr<Connector> connector_;
    int const me_;
    UniqueFd epoll_;
    std::vector<std::unique_ptr<SocketStream>> streams_;  // by rank; this rank's own is never used
    std::vector<bool> writable_wanted_;                   // by rank: whether epoll reports EPOLLOUT
    std::vector<bool> died_;
    std::vector<TcpAnswers> answers_;           // by rank
    TcpAnswers::Clock::time_point asked_at_{};  // when answers_ was last updated
    std::vector<int> posted_;                   // ranks with frames posted since the last flush
    SocketGroups groups_;
};

}  // namespace sinew::detail
