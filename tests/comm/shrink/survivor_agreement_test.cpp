// SPDX-License-Identifier: Apache-2.0
// Ranks that die at any moment, messages in any order between different pairs: those that are left agree.
#include "src/comm/shrink/survivor_agreement.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <map>
#include <optional>
#include <random>

#include "src/base/text.hpp"

namespace sinew::detail {
namespace {

using Message = SurvivorAgreement::Message;

/// Ranks that exchange messages over links that keep the order, in a sequence that a seed chooses.
class Simulation {
public:
    Simulation(int size, std::uint64_t seed)
        : size_(size), random_(seed), ranks_(static_cast<std::size_t>(size)) {}

    void run() {
        while (true) {
            std::vector<std::pair<char, std::pair<int, int>>> steps;
            for (int r = 0; r < size_; ++r) {
                Rank& rank = at(r);
                if (rank.dead) continue;
                if (!rank.part) steps.push_back({'c', {r, r}});
                else if (!rank.unsent.empty()) steps.push_back({'s', {r, r}});
                if (!rank.part) continue;
                for (int other = 0; other < size_; ++other)
                    if (at(other).dead && !rank.noticed[other]) steps.push_back({'n', {r, other}});
            }
            for (auto const& [link, messages] : links_)
                if (!messages.empty() && !at(link.second).dead && at(link.second).part)
                    steps.push_back({'d', link});
            if (steps.empty()) break;
            if (deaths_ + 1 < size_ && random_() % 12 == 0)
                die(static_cast<int>(random_() % static_cast<unsigned>(size_)));
            else take(steps[random_() % steps.size()]);
        }
    }

    /// Kills a rank that has done nothing yet.
    void kill_early(int rank) {
        at(rank).dead = true;
        ++deaths_;
        early_.push_back(rank);
    }

    void expect_agreement(std::string const& what) const {
        std::optional<Message> first;
        for (int r = 0; r < size_; ++r) {
            Rank const& rank = ranks_[static_cast<std::size_t>(r)];
            if (rank.dead) continue;
            ASSERT_TRUE(rank.part) << what;
            auto const& decision = rank.part->decision();
            ASSERT_TRUE(decision) << what << ", rank " << r << " awaits "
                                  << testing::PrintToString(rank.part->awaited());
            if (!first) first = decision;
            EXPECT_EQ(decision->left, first->left) << what << ", rank " << r;
            EXPECT_EQ(decision->lane, first->lane) << what << ", rank " << r;
            EXPECT_EQ(decision->left[static_cast<std::size_t>(r)], 1) << what << ", rank " << r;
            EXPECT_GE(decision->lane, static_cast<std::uint64_t>(r)) << what;
        }
        // Deaths before all others called are known to all when they call.
        if (!first || deaths_ > static_cast<int>(early_.size())) return;
        for (int const rank : early_)
            EXPECT_EQ(first->left[static_cast<std::size_t>(rank)], 0) << what;
    }

private:
    struct Rank {
        bool dead = false;
        std::optional<SurvivorAgreement> part;
        std::deque<SurvivorAgreement::Outgoing> unsent;
        std::map<int, bool> noticed;
    };
    Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

    void die(int rank) {
        if (at(rank).dead) return;
        at(rank).dead = true;
        ++deaths_;
        // Of what it has sent, the last messages may be lost.
        for (auto& [link, messages] : links_)
            if (link.first == rank)
                while (!messages.empty() && random_() % 2 == 0) messages.pop_back();
    }
    void take(std::pair<char, std::pair<int, int>> const& step) {
        auto const [from, to] = step.second;
        switch (step.first) {
            case 'c':
                at(from).part.emplace(from, size_, static_cast<std::uint64_t>(from));
                for (int const dead : early_) {
                    at(from).part->lose(dead);
                    at(from).noticed[dead] = true;
                }
                collect(from);
                break;
            case 's': {  // one at a time, so that a rank may die between two
                auto outgoing = std::move(at(from).unsent.front());
                at(from).unsent.pop_front();
                links_[{from, outgoing.to}].push_back(std::move(outgoing.message));
                break;
            }
            case 'n':
                at(from).noticed[to] = true;
                at(from).part->lose(to);
                collect(from);
                break;
            default: {
                Message message = std::move(links_[step.second].front());
                links_[step.second].pop_front();
                auto const read = Message::decode(message.encoded(), size_);
                ASSERT_TRUE(read);
                at(to).part->receive(from, *read);
                collect(to);
            }
        }
    }
    void collect(int rank) {
        for (auto& outgoing : at(rank).part->take_outgoing())
            at(rank).unsent.push_back(std::move(outgoing));
    }

    int const size_;
    std::mt19937_64 random_;
    std::vector<Rank> ranks_;
    std::map<std::pair<int, int>, std::deque<Message>> links_;
    std::vector<int> early_;
    int deaths_ = 0;
};

TEST(SurvivorAgreement, HoldsWhateverTheOrderAndWhoeverDies) {
    for (std::uint64_t seed = 1; seed <= 30000; ++seed) {
        int const size = 1 + static_cast<int>(seed % 6);
        Simulation simulation(size, seed);
        simulation.run();
        simulation.expect_agreement(text("seed ", seed, ", ", size, " ranks"));
        if (testing::Test::HasFailure()) break;
    }
}

TEST(SurvivorAgreement, LeavesOutWhoDiedBefore) {
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        int const size = 2 + static_cast<int>(seed % 5);
        Simulation simulation(size, seed);
        simulation.kill_early(static_cast<int>(seed / 5) % size);
        simulation.run();
        simulation.expect_agreement(text("seed ", seed, ", ", size, " ranks"));
        if (testing::Test::HasFailure()) break;
    }
}

TEST(SurvivorAgreement, NamesTheRanksThatItAwaits) {
    SurvivorAgreement coordinator(0, 4, 0), other(2, 4, 0);
    EXPECT_THAT(coordinator.awaited(), testing::ElementsAre(1, 2, 3));
    EXPECT_THAT(other.awaited(), testing::ElementsAre(0));
    coordinator.lose(1);
    for (auto& outgoing : other.take_outgoing()) coordinator.receive(2, outgoing.message);
    EXPECT_THAT(coordinator.awaited(), testing::ElementsAre(3));
}

TEST(SurvivorAgreement, ReadsNothingElse) {
    Message const good{SurvivorAgreement::Kind::report, 1, 7, {1, 0, 1}};
    auto const bytes = good.encoded();
    ASSERT_TRUE(Message::decode(bytes, 3));
    EXPECT_FALSE(Message::decode(bytes, 2));
    EXPECT_FALSE(Message::decode(std::span(bytes).first(bytes.size() - 1), 3));
    for (std::size_t at : {0u, 4u, 8u, 12u}) {  // magic, kind, coordinator, size
        auto wrong = bytes;
        wrong[at] ^= std::byte{0x70};
        EXPECT_FALSE(Message::decode(wrong, 3)) << at;
    }
    auto wrong = bytes;
    wrong.back() = std::byte{2};
    EXPECT_FALSE(Message::decode(wrong, 3));
}

}  // namespace
}  // namespace sinew::detail
