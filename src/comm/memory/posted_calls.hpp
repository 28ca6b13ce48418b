// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "collectives/reducer.hpp"
#include "src/comm/black_box/operation_record.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/comm/progress/request_state.hpp"
#include "src/node_memory/room.hpp"

namespace sinew::detail {

/// A short collective as it passes through a room: its arguments are right.
struct ShortCall {
    OperationRecord record;
    std::byte const* in = nullptr;
    std::byte* out = nullptr;
    std::size_t bytes = 0;                 ///< that this rank publishes
    collectives::Kernel kernel = nullptr;  ///< allreduce: combines the messages of all ranks
};

/// The short non-blocking collectives of one communicator over its room, without the engine.
///
/// The caller's thread publishes this rank's message at once. That is all that other ranks need from
/// it, so they do not depend on when this rank looks for theirs: in the tests and waits of its
/// requests, before it begins any other call, or in the engine, where a call queues behind these.
/// They end in the order of the calls.
///
/// Any thread may wait for a request: a lock protects each look at the room. Every other call of the
/// communicator begins when `none()`, so that it needs no lock.
class CommunicatorState::PostedCalls {
public:
    explicit PostedCalls(CommunicatorState& state);
    PostedCalls(PostedCalls const&) = delete;
    PostedCalls& operator=(PostedCalls const&) = delete;
    ~PostedCalls();

    /// Enters a call. Returns null, and does nothing, if it would have to wait for a line: the engine
    /// then performs it. Requires that the engine performs no collective of this communicator.
    RequestState* post(ShortCall const& call);

    /// Whether all have ended.
    bool none() const { return posted_.load(std::memory_order_acquire) == 0; }
    /// Ends the calls, in their order, for which all messages are here.
    void progress();
    /// Waits until all have ended. If they fail, the communicator is lost.
    void await_all(node_memory::Waiter& waiter);
    /// Describes the first that has not ended.
    std::string text();
    /// Ends all calls, because the communicator is lost.
    void fail() noexcept;

private:
    class Posted;
    class Lock;

    /// A rank whose message the first call lacks or, if there is no call, -1.
    int awaited_rank();
    void end(Posted& call);
    void pop(Posted& call, bool failed) noexcept;
    void refuse(int peer, std::uint64_t sequence) noexcept;
    std::string text_of(std::uint64_t sequence) const;

    /// More than the lines, as a request may be kept after its end.
    static constexpr std::size_t capacity = 64;
    CommunicatorState& state_;
    node_memory::Room& room_;
    std::unique_ptr<Posted[]> calls_;
    std::atomic<bool> locked_{false};
    // Guarded by the lock; read by any thread.
    std::atomic<std::uint32_t> posted_{0};
    std::uint64_t begin_ = 0, end_ = 0;  // the calls that have not ended: numbers modulo capacity
    std::uint64_t published_finished_ = 0;
};

}  // namespace sinew::detail
