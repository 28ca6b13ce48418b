// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include "src/process/runtime.hpp"

namespace sinew::pool {

/// What rank 0 of a pool over a communicator and the other ranks say to each other, over one link
/// each. Heads as they lie in memory: all ranks run the same program on one kind of machine.
enum class Relay : std::uint8_t {
    // to the supervisor
    start = process::kinds::supervisor,  ///< StartHead, a WorkerStart
    tell,                                ///< MessageHead, what the worker shall hear
    piece,                               ///< WorkerHead, a piece for the worker
    kill,                                ///< WorkerHead
    granted,                             ///< LeaseHead: the answer to `renew`
    over,                                ///< the pool is gone
    // to rank 0
    started,     ///< StartedHead
    said,        ///< MessageHead, what the worker says
    said_piece,  ///< WorkerHead, a piece from the worker
    taken,       ///< TakenHead: so many bytes of pieces were passed on
    silent,      ///< SilentHead
    ended,       ///< EndedHead, the last lines of its standard error
    renew,       ///< LeaseHead
};
// The last one is the word by which they meet.
static_assert(static_cast<std::uint8_t>(Relay::renew) < process::kinds::supervisor_last);

struct WorkerHead {
    std::uint64_t worker;  ///< a number that rank 0 gives, and never twice
};
struct StartHead {
    std::uint64_t worker;
    std::uint64_t slot;
};
struct MessageHead {
    std::uint64_t worker;
    std::uint64_t kind;
};
struct StartedHead {
    std::uint64_t worker;
    std::uint64_t pid;
};
struct TakenHead {
    std::uint64_t worker;
    std::uint64_t bytes;
};
struct SilentHead {
    std::uint64_t worker;
    std::uint64_t suspect;
};
struct EndedHead {
    std::uint64_t worker;
    std::int32_t code, signal;
    std::uint64_t out_of_memory;
    std::uint64_t verdict, running;  ///< as its status page has them
};
/// On the supervisor's clock: from when on the lease counts.
struct LeaseHead {
    std::int64_t asked_ns;
};

template <class Head>
std::span<std::byte const> head_bytes(Head const& head) {
    return std::as_bytes(std::span(&head, 1));
}
/// Takes a head off the front; nothing where the bytes are too few.
template <class Head>
std::optional<Head> take_head(std::span<std::byte const>& bytes) {
    if (bytes.size() < sizeof(Head)) return std::nullopt;
    Head head;
    std::memcpy(&head, bytes.data(), sizeof head);
    bytes = bytes.subspan(sizeof head);
    return head;
}

/// How long the workers of a host may go on without a word of rank 0. A supervisor asks every
/// `renewal`; its workers end when the lease that counts from its last answered question is over.
constexpr auto lease = std::chrono::seconds(8);
constexpr auto renewal = std::chrono::milliseconds(500);
/// For clocks that do not go alike, and workers that look every few milliseconds.
constexpr auto lease_margin = std::chrono::seconds(1);

/// So little waits for the kernel that a word to or from a worker is not late behind its payloads.
wire::LinkOptions relay_options();
constexpr std::size_t relay_piece = std::size_t{256} << 10;
/// Bytes for one worker on their way, beyond which its other payloads wait at rank 0; and those of
/// one that wait at its supervisor, beyond which it waits itself.
constexpr std::size_t relay_window = std::size_t{4} << 20;

/// Notes in `full` when the rest had better wait for `drained`. Null: nobody is there to hear it.
void send_relayed(wire::Link* link, Relay kind,
                  std::initializer_list<std::span<std::byte const>> parts, bool& full);

/// Says farewell, and goes when the other end has heard it, or does not answer.
void close_in_order(std::unique_ptr<wire::Link> link);

}  // namespace sinew::pool
