// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/call_sequence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

namespace sinew::node_memory {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr CallSequence::Time start{1s};

TEST(CallSequence, IsAwaitedForHalfAYield) {
    CallSequence sequence;
    sequence.yielded({.ended = start, .took = 3us});
    EXPECT_EQ(sequence.looks_until(start + 800ns), start + 2300ns);
}

TEST(CallSequence, EndsWhenHalfAYieldHasPassed) {
    CallSequence sequence;
    sequence.yielded({.ended = start, .took = 3us});
    EXPECT_EQ(sequence.looks_until(start + 1600ns), start + 1600ns);
}

TEST(CallSequence, DoesNotBeginBeforeTheFirstYield) {
    EXPECT_EQ(CallSequence().looks_until(start), start);
}

/// Two processors of two ranks each, all of which wait for the messages of all in every call.
class TwoProcessors {
public:
    static constexpr nanoseconds change = 1200ns, call = 200ns, hand_over = 100ns, look = 20ns;

    /// `lag`: how much later the second processor begins. `longest`: at most so long a rank looks.
    TwoProcessors(nanoseconds lag, nanoseconds longest) : longest_(longest) {
        processors_[1].now += lag;
    }
    /// Changes of ranks per call and processor, after so many calls of each rank.
    double changes_per_call(int calls) {
        int ended = 0;
        while (ended < calls) {
            step(std::size_t{processors_[1].now < processors_[0].now});
            ended = calls;
            for (Processor const& p : processors_)
                for (Rank const& rank : p.ranks) ended = std::min(ended, rank.ended);
        }
        return static_cast<double>(processors_[0].changes + processors_[1].changes) / 2 / ended;
    }

private:
    struct Rank {
        int ended = 0;
        std::optional<CallSequence::Time> entered;  // the call after those
        CallSequence::Time yielded{}, waits_since{};
        CallSequence sequence{};
    };
    struct Processor {
        std::array<Rank, 2> ranks{};
        std::size_t runs = 0;
        CallSequence::Time now = start;
        int changes = 0;
    };
    /// Whether a rank has entered a call, as another processor sees it.
    static bool has_entered(Rank const& rank, int call_number, CallSequence::Time now) {
        return rank.ended > call_number ||
               (rank.ended == call_number && rank.entered && *rank.entered + hand_over <= now);
    }
    void step(std::size_t at) {
        Processor& here = processors_[at];
        Rank& rank = here.ranks[here.runs];
        Rank const& mate = here.ranks[1 - here.runs];
        if (!rank.entered) {
            rank.entered = rank.waits_since = here.now;
            return;
        }
        bool const mate_entered = mate.ended > rank.ended || mate.entered;
        auto const& others = processors_[1 - at].ranks;
        if (mate_entered && std::all_of(others.begin(), others.end(), [&](Rank const& other) {
                return has_entered(other, rank.ended, here.now);
            })) {
            ++rank.ended;
            rank.entered.reset();
            here.now += call;
        } else if (!mate_entered ||
                   here.now >= std::min(rank.sequence.looks_until(rank.waits_since),
                                        rank.waits_since + longest_)) {
            change_ranks(here);
        } else {
            here.now += look;
        }
    }
    static void change_ranks(Processor& here) {
        here.ranks[here.runs].yielded = here.now;
        here.runs = 1 - here.runs;
        here.now += change;
        ++here.changes;
        Rank& rank = here.ranks[here.runs];
        rank.waits_since = here.now;
        if (rank.entered)
            rank.sequence.yielded({.ended = here.now, .took = here.now - rank.yielded});
    }

    nanoseconds longest_;
    std::array<Processor, 2> processors_;
};

TEST(CallSequence, BringsProcessorsBackWhenOneHasFallenBehind) {
    for (nanoseconds lag = 0ns; lag < 6us; lag += 100ns)
        EXPECT_NEAR(TwoProcessors(lag, 1h).changes_per_call(100), 1, 0.05) << lag.count() << " ns";
}

TEST(CallSequence, WouldStayOutOfPhaseIfRanksLookedForLessThanAChangeTakes) {
    double most = 0;
    for (nanoseconds lag = 0ns; lag < 6us; lag += 100ns)
        most =
            std::max(most, TwoProcessors(lag, TwoProcessors::change * 3 / 4).changes_per_call(100));
    EXPECT_GT(most, 1.4);
}

}  // namespace
}  // namespace sinew::node_memory
