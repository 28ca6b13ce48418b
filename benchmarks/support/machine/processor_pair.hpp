// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <sys/types.h>

#include <sinew/communicator.hpp>

#include "benchmarks/support/machine/copy_ways.hpp"
#include "benchmarks/support/machine/shared_page.hpp"

namespace sinew::bench {

/// Ranks 0 and 1, which pass messages through buffers in shared memory, or read each other's private memory by the kernel
/// (process_vm_readv), in the fastest ways known and with nothing else around them. For measurements.
///
/// Flags and buffers of an exchange change hands: a rank stores where it has loaded before, whose lines are in its cache.
class ProcessorPair {
public:
    static constexpr std::size_t largest_piece = std::size_t{64} << 10;

    /// Collective. Ranks other than 0 and 1 take no part in what follows.
    explicit ProcessorPair(Communicator& comm);

    /// Whether this rank takes part.
    explicit operator bool() const { return page_ && rank_ < 2; }
    /// Whether all ranks of the communicator are on one node and share memory, and there are at least two.
    bool everywhere() const { return everywhere_; }
    /// Whether both ranks may read each other's memory by the kernel; all ranks know.
    bool reads_private() const { return reads_private_; }
    /// Whether the other rank has come to all meetings. After the first to which it has not, none waits.
    bool meets() const { return meets_; }

    /// Waits for the other rank.
    void meet();

    /// What a rank gives, and where it puts as many bytes that it gets. Buffers are aligned to 64 bytes and have room for a multiple of 64.
    struct Message {
        std::byte* to;
        std::byte const* from;
        std::size_t bytes;
        std::uintptr_t other_from = 0;  ///< the other rank's `from`; for the kernel
    };

    /// How a message passes through shared memory.
    struct Stored {
        CopyWay const& in;   ///< stores it there
        CopyWay const& out;  ///< stores it to the other rank's private memory
        std::size_t piece;   ///< of so many bytes at a time, at most `largest_piece`
    };

    /// Each rank gets the other's message.
    void exchange(Message const& message, Stored const& way);
    /// The same by the kernel, which reads the messages where they are.
    void exchange_by_kernel(Message const& message);
    /// The other rank gets the message of rank `giver`, which stores what comes next meanwhile and does not wait for the last to be loaded.
    void hand_over(Message const& message, int giver, Stored const& way);
    /// The same by the kernel; the giver waits until the other rank has it.
    void hand_over_by_kernel(Message const& message, int giver);

private:
    /// Flags lie two lines apart, since processors fetch lines in pairs. Two are for meetings, one says what has been
    /// loaded, and each message or piece that is handed over has one of its own.
    static constexpr std::size_t stride = 2, loaded_flag = 2, first_place = 3, places = 64;
    static constexpr std::size_t ring = 4 * largest_piece;
    static constexpr std::size_t ring_line = stride * (first_place + places);
    static constexpr std::size_t lines = ring_line + ring / SharedPage::line_bytes;
    /// What has room in the line of a flag, which then is all that passes.
    static constexpr std::size_t beside_flag = SharedPage::line_bytes - sizeof(std::uint64_t);

    std::byte* flag_line(std::size_t index) const { return page_.line(stride * index); }
    std::atomic<std::uint64_t>& flag(std::size_t index) const;
    std::byte* buffer(std::size_t offset) const { return page_.line(ring_line) + offset; }
    /// Waits until the flag has at least this value, but not for a rank that does not run.
    void await(std::atomic<std::uint64_t> const& flag, std::uint64_t value);
    void exchange_in_lines(Message const& message);
    void read(Message const& message);

    SharedPage page_;
    int rank_;
    pid_t other_process_ = 0;
    std::uint64_t met_ = 0, handed_over_ = 0;
    std::uint64_t allowed_ =
        0;  ///< the last hand-over before which the giver does not look whether there is a place
    std::size_t ahead_ = 0;  ///< how many messages the giver may be ahead
    std::size_t exchanged_ = 0;
    bool everywhere_ = false, reads_private_ = false, meets_ = true;
};

}  // namespace sinew::bench
