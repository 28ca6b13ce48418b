// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace sinew::collectives {

/// The cost of messages between ranks of one node, or between nodes: the time of an exchange by
/// message size, measured at a few sizes and interpolated (so that eager limits and rendezvous
/// show), and what several messages at a time cost.
struct Level {
    static constexpr std::array<std::size_t, 10> sizes{8,     256,   1024,   3072,    4096,
                                                       16384, 65536, 262144, 1048576, 4194304};

    /// Seconds of one exchange (simultaneous send and receive) of `bytes` each way.
    double exchange(std::size_t bytes) const;
    /// Seconds that one more exchange adds to concurrent ones of the same rank, which hide most of
    /// its latency.
    double overlapped(std::size_t bytes) const;
    /// Seconds that an exchange of another rank of the same node adds, through the same network
    /// card.
    double gap(std::size_t bytes) const {
        return gap_per_message + gap_per_byte * static_cast<double>(bytes);
    }
    /// Seconds of a pipeline that moves `bytes` in segments, a window of them in flight, excluding
    /// its first segment. This time is proportional to the bytes.
    double stream(std::size_t bytes) const { return stream_per_byte * static_cast<double>(bytes); }

    std::array<double, sizes.size()> seconds{1e-6, 1e-6,  1.5e-6, 2e-6,   4e-6,
                                             6e-6, 16e-6, 60e-6,  250e-6, 1e-3};
    double stream_per_byte = 2.5e-10;
    /// The share of a message's time that concurrent ones cannot hide; above 1 they congest.
    double overlap = 0.25;
    double gap_per_message = 0;
    double gap_per_byte = 0;
    /// The segment size (bytes) and window for long transfers.
    std::size_t segment = 32768;
    int window = 16;
};

}  // namespace sinew::collectives
