// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sinew::node_memory {

/// Chooses how a rank stores what others will read: through its cache, or past it (non-temporal).
///
/// Which is faster depends on the size, on the machine and on where the cores of the ranks lie at
/// the moment: a line that another core has read costs a plain store up to ten times as much. So
/// each rank measures its own calls, by size class, and tries the alternatives again now and then.
/// The ranks try at the same calls, because they count them alike. Not thread-safe.
class StoreChoice {
public:
    struct Stores {
        bool slots_bypass = false;    ///< non-temporal stores to slots
        bool results_bypass = false;  ///< non-temporal stores to the caller's result
    };

    /// One call, from its construction to `done`.
    class Trial {
    public:
        Stores stores() const { return stores_; }
        void done();

    private:
        friend class StoreChoice;
        Trial(StoreChoice& owner, std::size_t size_class, std::size_t way, bool counts);
        StoreChoice& owner_;
        std::size_t class_, way_;
        bool counts_;
        Stores stores_;
        std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    };

    /// Begins a call that moves `bytes`. Results bypass the cache only if `large`.
    Trial begin(std::size_t bytes, bool large);

private:
    static constexpr std::size_t ways = 4;
    struct Class {
        std::uint32_t calls = 0;
        std::uint32_t next_trial = 0;  ///< the call at which the ways are tried again
        std::uint32_t interval = 64;   ///< calls between the trials; grows while the best stays
        std::uint8_t best = 0;
        std::array<float, ways> seconds{};  ///< recent average; 0: not tried yet
    };
    std::array<Class, 48> classes_{};
};

}  // namespace sinew::node_memory
