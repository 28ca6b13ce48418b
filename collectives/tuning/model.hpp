// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace sinew::collectives {

/// The cost of a step on these ranks: the time of a neighbor exchange by message size, measured at
/// a few sizes and interpolated (so that eager limits and rendezvous show), and of reducing a byte.
class Model {
public:
    static constexpr std::array<std::size_t, 10> sizes{8,     256,   1024,   3072,    4096,
                                                       16384, 65536, 262144, 1048576, 4194304};

    /// Seconds of one exchange (simultaneous send and receive) of `bytes` each way.
    double exchange(std::size_t bytes) const;
    /// Seconds of combining two vectors of `bytes`.
    double reduce(std::size_t bytes) const { return reduce_per_byte * static_cast<double>(bytes); }
    /// Seconds that one more exchange adds to concurrent ones, which hide most of its latency.
    double overlapped(std::size_t bytes) const;
    /// Seconds of a pipeline that moves `bytes` in segments, a window of them in flight, excluding
    /// its first segment. This time is proportional to the bytes.
    double stream(std::size_t bytes) const { return stream_per_byte * static_cast<double>(bytes); }

    /// Converts to one line of text and back. Throws UsageError if the text is not a model.
    std::string to_text() const;
    static Model from_text(std::string const& text);

    std::array<double, sizes.size()> seconds{1e-6, 1e-6,  1.5e-6, 2e-6,   4e-6,
                                             6e-6, 16e-6, 60e-6,  250e-6, 1e-3};
    double reduce_per_byte = 1e-10;
    double stream_per_byte = 2.5e-10;
    /// The segment size (bytes) and window for long transfers.
    std::size_t segment = 32768;
    int window = 16;
};

}  // namespace sinew::collectives
