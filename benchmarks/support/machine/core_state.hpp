// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <sinew/communicator.hpp>
#include <string_view>
#include <vector>

namespace sinew::bench {

/// How far apart the cores of ranks 0 and 1 are, by the round trip of one cache line. Virtual
/// machines move their processors about, so the same program is at times several times slower:
/// figures of two states must not be compared.
enum class CoreState : std::uint8_t {
    near,            ///< round trip below 220 ns: one cache is behind both cores
    far,             ///< above
    oversubscribed,  ///< more ranks on a machine than processors; nothing to measure
    unknown,         ///< ranks 0 and 1 share no memory, or had no core each at the time
    mixed,           ///< both states were seen
};

inline constexpr double near_limit_ns = 220;

std::string_view name(CoreState state);
/// Infinite: nothing came back.
CoreState classify(double round_trip_ns);

/// Of one round, from what was seen before and after it.
CoreState of_round(CoreState before, CoreState after);
/// Of all rounds together: the state of both halves (each by its majority) and of at least three
/// rounds in four, else mixed.
CoreState of_rounds(std::vector<CoreState> const& rounds);

/// Measures the state between rounds. Construction and `sample` are collective.
class CoreProbe {
public:
    CoreProbe(Communicator& comm, bool oversubscribed);
    ~CoreProbe();

    /// The state now, on rank 0; the others get unknown. Takes about 50 us, never more than 10 ms.
    CoreState sample();

private:
    struct alignas(64) Line {
        std::atomic<std::uint64_t> value;
    };
    void share_line(Communicator& comm);
    void keep(void* memory, bool shared);
    double ping();
    void pong();

    int rank_;
    CoreState fixed_ = CoreState::unknown;
    Line* line_ = nullptr;  ///< rank 0 writes odd numbers, rank 1 the even ones after them
    std::uint64_t last_ = 0;
};

}  // namespace sinew::bench
