// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace sinew::collectives {

/// What a step costs here: the time of a neighbour exchange by message size, measured at a few
/// sizes and interpolated (so that eager limits and rendezvous show), and of reducing a byte.
class Model {
public:
    static constexpr std::array<std::size_t, 10> sizes{8,     256,   1024,   3072,    4096,
                                                       16384, 65536, 262144, 1048576, 4194304};

    /// Seconds of one exchange (send and receive at once) of `bytes` each way.
    double exchange(std::size_t bytes) const;
    /// Seconds of combining two vectors of `bytes`.
    double reduce(std::size_t bytes) const { return reduce_per_byte * static_cast<double>(bytes); }
    /// Seconds that one more exchange adds to others under way, which hide most of its latency.
    double overlapped(std::size_t bytes) const;
    /// Seconds of a pipeline that moves `bytes` in segments, a window of them under way, after its
    /// first: time that grows with the bytes alone.
    double stream(std::size_t bytes) const { return stream_per_byte * static_cast<double>(bytes); }

    /// Text form, one line, and back (throws UsageError when it is not one).
    std::string to_text() const;
    static Model from_text(std::string const& text);

    std::array<double, sizes.size()> seconds{1e-6, 1e-6,  1.5e-6, 2e-6,   4e-6,
                                             6e-6, 16e-6, 60e-6,  250e-6, 1e-3};
    double reduce_per_byte = 1e-10;
    double stream_per_byte = 2.5e-10;
    /// Segment and window that long transfers are cut into.
    std::size_t segment = 32768;
    int window = 16;
};

}  // namespace sinew::collectives
