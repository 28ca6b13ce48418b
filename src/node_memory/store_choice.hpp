// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace sinew::node_memory {

/// Chooses how a rank hands to others what they will read: stored to slots through its cache, or past
/// it (non-temporal), or lent: they read it where it lies.
///
/// Which is faster depends on the size, on the machine and on where the cores of the ranks lie at
/// the moment: a line that another core has read costs a plain store up to ten times as much. So
/// each rank measures its own calls, by size class. Now and then it tries another way, briefly if
/// that is slower, and at once when its calls have become slower than they were. Not thread-safe.
class StoreChoice {
public:
    struct Stores {
        bool slots_bypass = false;    ///< non-temporal stores to slots
        bool results_bypass = false;  ///< non-temporal stores to the caller's result
        bool lends = false;           ///< no slots: the others read the caller's private buffer
        bool operator==(Stores const&) const = default;
    };
    /// What there is to choose from, beside how to store to slots.
    enum class Choice : std::uint8_t {
        slots,               ///< nothing
        results,             ///< whether results bypass the cache, too
        lending,             ///< whether to use slots at all
        lending_or_results,  ///< that, and if so, whether results bypass the cache; slots are not bypassed
    };

    /// One call, from its construction to `done`.
    class Trial {
    public:
        Stores stores() const {
            auto const ways = ways_of(choice_);
            return way_ < ways.size() ? ways[way_] : Stores();
        }
        /// Reports that the call has ended. A call that fails reports nothing.
        void done();

    private:
        friend class StoreChoice;
        Trial(StoreChoice& owner, std::size_t size_class, Choice choice, int settling);
        StoreChoice& owner_;
        Choice choice_;
        std::size_t class_;
        std::uint8_t way_;
        int settling_;
        std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    };

    /// Begins a call that moves `bytes`. `choice` and `first`, the way of the first calls, one of the choice's, must follow
    /// from the class of the size. `settling` is the number of calls until the slots have been stored to in a new way, all of them.
    /// `sure`: `first` is the fastest way as a rule, so that long calls try no other soon.
    Trial begin(std::size_t bytes, Choice choice, int settling, Stores const& first, bool sure);

    /// Reports the time of a call; for tests, which have no calls.
    void report(std::size_t size_class, std::uint8_t way, int settling, float seconds);
    static std::size_t class_of(std::size_t bytes);
    std::uint8_t way_of(std::size_t size_class) const;

private:
    /// What there is to choose from, in the order of the numbers of the ways.
    static std::span<Stores const> ways_of(Choice choice);

    struct Class {
        std::uint8_t ways = 0;  ///< 0: no call yet
        std::uint8_t best = 1;
        std::uint8_t tried = 0;       ///< the way that is tried, if `trial_calls` is above 0
        std::uint8_t slow_calls = 0;  ///< consecutive calls much slower than the average
        Choice choice = Choice::slots;
        bool settled = false;  ///< the first calls are over
        int trial_calls = 0;
        int until_trial = 8;
        int interval = 64;  ///< calls between trials; grows while they change nothing
        float average = 0;  ///< recent seconds of the best way
        float trial = 0;    ///< recent seconds of the tried way
    };
    void begin_trial(Class& c);
    void end_trial(Class& c, bool better);

    static constexpr std::size_t size_classes = 48;
    using Classes = std::array<Class, size_classes>;
    std::unique_ptr<Classes> classes_;  // made by the first call: most rooms see few patterns
};

// The ways with which calls begin.
inline constexpr StoreChoice::Stores through_cache{}, slots_past_cache{.slots_bypass = true},
    results_past_cache{.results_bypass = true}, lent_buffers{.lends = true};

}  // namespace sinew::node_memory
