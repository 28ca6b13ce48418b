// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <sinew/communicator.hpp>
#include <string_view>
#include <vector>

#include "benchmarks/support/machine/shared_page.hpp"

namespace sinew::bench {

/// How far apart the cores of ranks 0 and 1 are, by the round trip of one cache line. Hypervisors
/// migrate virtual processors, so the same program is at times several times slower. Results from
/// different states must not be compared.
enum class CoreState : std::uint8_t {
    near,            ///< round trip below 220 ns: the cores share a cache
    far,             ///< round trip of 220 ns or more
    oversubscribed,  ///< more ranks on a machine than processors; nothing to measure
    unknown,         ///< ranks 0 and 1 share no memory, or did not have a core each
    mixed,           ///< both states were seen
};

inline constexpr double near_limit_ns = 220;

std::string_view name(CoreState state);
/// Infinity means that there was no answer.
CoreState classify(double round_trip_ns);

/// The state of one round, from the samples before and after it.
CoreState of_round(CoreState before, CoreState after);
/// The state of all rounds: the common majority of both halves if it has at least three quarters of
/// the rounds, otherwise mixed.
CoreState of_rounds(std::vector<CoreState> const& rounds);

/// One measurement, on rank 0; infinity means that there was none.
struct CoreSample {
    CoreState state = CoreState::unknown;
    double round_trip_ns = std::numeric_limits<double>::infinity();
};

/// Measures the state between rounds. `sample` is collective over ranks 0 and 1.
class CoreProbe {
public:
    /// Uses one cache line of `page`, which must outlive the probe. Not collective.
    CoreProbe(Communicator& comm, SharedPage const& page, std::size_t line, bool oversubscribed);

    /// Returns the state on rank 0 and unknown on others. Takes about 50 us, never more than 10 ms.
    CoreSample sample();

private:
    struct alignas(64) Line {
        std::atomic<std::uint64_t> value;
    };
    double ping();
    void pong();

    int rank_;
    CoreState fixed_ = CoreState::unknown;
    Line* line_ = nullptr;  ///< rank 0 writes odd numbers, rank 1 the following even ones
    std::uint64_t last_ = 0;
};

}  // namespace sinew::bench
