// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

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
    static constexpr std::size_t largest_message = std::size_t{32} << 20;
    static constexpr std::size_t largest_piece = std::size_t{64} << 10;

    /// Collective. Ranks other than 0 and 1 take no part in what follows.
    explicit ProcessorPair(Communicator& comm);

    /// Whether this rank takes part.
    explicit operator bool() const { return in_ != nullptr; }
    /// Whether all ranks of the communicator are on one node and share memory.
    bool everywhere() const { return page_.everywhere(); }
    /// Whether both ranks may read each other's memory by the kernel; all ranks know.
    bool reads_private() const { return reads_private_; }
    /// Whether the other rank has come to all meetings. After the first to which it has not, none waits.
    bool meets() const { return meets_; }

    /// Waits for the other rank.
    void meet();
    /// Writes to each line of this rank's message.
    void touch(std::size_t bytes);

    /// How a message passes through shared memory.
    struct Stored {
        CopyWay const& in;   ///< stores it there
        CopyWay const& out;  ///< stores it to the other rank's private memory
        std::size_t piece;   ///< of so many bytes at a time, at most `largest_piece`
    };

    /// Each rank gets the other's message.
    void exchange(Stored const& way, std::size_t bytes);
    /// The same by the kernel, which reads the messages where they are.
    void exchange_by_kernel(std::size_t bytes);
    /// Rank 1 gets the message of rank 0, which stores the next pieces meanwhile and does not wait for the last ones to be loaded.
    void hand_over(Stored const& way, std::size_t bytes);
    /// The same by the kernel; rank 0 waits until rank 1 has it.
    void hand_over_by_kernel(std::size_t bytes);

private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    using Memory = std::unique_ptr<std::byte, Free>;

    /// The lines of a page: two flags of meetings, two of what was handed over, and four buffers.
    static constexpr std::size_t buffers = 4, flags = 4;
    static constexpr std::size_t lines = flags + buffers * largest_piece / SharedPage::line_bytes;

    /// What has room in the line of a flag, which then is all that passes.
    static constexpr std::size_t beside_flag = SharedPage::line_bytes - sizeof(std::uint64_t);

    static Memory private_memory();
    std::atomic<std::uint64_t>& flag(std::size_t index) const;
    std::byte* buffer(std::size_t index) const;
    /// Waits until the flag has at least this value, but not for a rank that does not run.
    void await(std::atomic<std::uint64_t> const& flag, std::uint64_t value);
    void exchange_in_lines(std::size_t bytes);
    void read(std::size_t bytes);

    SharedPage page_;
    int rank_;
    Memory in_, out_;
    pid_t other_process_ = 0;
    std::uint64_t other_in_ = 0;
    std::uint64_t met_ = 0, handed_over_ = 0;
    std::size_t exchanged_ = 0;
    bool reads_private_ = false, meets_ = true;
};

}  // namespace sinew::bench
