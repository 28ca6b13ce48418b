// SPDX-License-Identifier: Apache-2.0
// Groups of ranks with separate messages.
#include <algorithm>

#include "tests/transport/conformance.hpp"

namespace sinew::conformance {

std::vector<int> every_second(Transport const& self, int first) {
    std::vector<int> members;
    for (int rank = first; rank < self.size(); rank += 2) members.push_back(rank);
    return members;
}

/// Expects that the ranks of `part` are `members`, in this order, as ranks above.
void expect_members(Transport& part, int rank_above, std::vector<int> const& members) {
    ASSERT_EQ(part.size(), static_cast<int>(members.size()));
    ASSERT_EQ(members[static_cast<std::size_t>(part.rank())], rank_above);
    Bytes const out{static_cast<std::byte>(rank_above)};
    auto const left = static_cast<int>(pass_on(part, 1, out)[0]);
    EXPECT_EQ(left, members[static_cast<std::size_t>(previous(part))]);
    EXPECT_TRUE(part.lost().empty());
}

TEST_P(TransportConformance, SplitsIntoDisjointGroupsAtOnce) {
    run([](Transport& self) {
        auto const members = every_second(self, self.rank() % 2);
        auto const part = split(self, members);
        EXPECT_EQ(part->name(), self.name());
        EXPECT_EQ(part->threading(), self.threading());
        expect_members(*part, self.rank(), members);
        EXPECT_EQ(pass_on(*part, 1, pattern(100000, 1)), pattern(100000, 1));
    });
}

TEST_P(TransportConformance, SplitsInReversedOrder) {
    run([](Transport& self) {
        auto members = all_ranks(self);
        std::ranges::reverse(members);
        expect_members(*split(self, members), self.rank(), members);
    });
}

TEST_P(TransportConformance, SplitsWithoutThoseWhoStayOut) {
    run([](Transport& self) {
        auto members = all_ranks(self);
        members.pop_back();  // the last rank continues without a call
        if (self.rank() + 1 < self.size())
            expect_members(*split(self, members), self.rank(), members);
    });
}

TEST_P(TransportConformance, SplitsIntoSingleRanks) {
    run([](Transport& self) {
        auto const alone = split(self, {self.rank()});
        EXPECT_EQ(alone->rank(), 0);
        EXPECT_EQ(alone->size(), 1);
        EXPECT_EQ(pass_on(*alone, 1, pattern(9000, 1)), pattern(9000, 1));
    });
}

TEST_P(TransportConformance, SplitsOfSplitsOutliveTheirParents) {
    run([](Transport& self) {
        auto members = all_ranks(self);
        std::ranges::reverse(members);
        auto part = split(self, members);
        auto const part_rank = part->rank();
        auto const half = every_second(*part, part->rank() % 2);
        auto const nested = split(*part, half);
        part.reset();
        expect_members(*nested, part_rank, half);
    });
}

TEST_P(TransportConformance, KeepsTheMessagesOfGroupsApart) {
    run([](Transport& self) {
        auto const one = split(self, all_ranks(self));
        auto const two = split(self, all_ranks(self));
        Bytes const a = pattern(50, 1), b = pattern(50, 2), c = pattern(50, 3);
        Bytes in_a(50), in_b(50), in_c(50);
        // Equal ranks and tags: only the group distinguishes the messages.
        std::vector<Transport::Ticket> sends{self.start_send(next(self), 1, a),
                                             one->start_send(next(self), 1, b),
                                             two->start_send(next(self), 1, c)};
        receive(*two, any_source, 1, in_c);
        receive(*one, any_source, 1, in_b);
        EXPECT_FALSE(one->probe(any_source, 1));
        receive(self, any_source, 1, in_a);
        wait(self, sends[0]);
        wait(*one, sends[1]);
        wait(*two, sends[2]);
        EXPECT_EQ(in_a, a);
        EXPECT_EQ(in_b, b);
        EXPECT_EQ(in_c, c);
    });
}

TEST_P(TransportConformance, SplitsWhileAReceiveIsPosted) {
    run([](Transport& self) {
        Bytes in(10);
        auto receiving = self.start_receive(any_source, 1, in);
        auto const part = split(self, all_ranks(self));
        EXPECT_EQ(pass_on(*part, 1, pattern(10, 1)), pattern(10, 1));
        EXPECT_FALSE(self.test(receiving));
        barrier(self);
        send(self, next(self), 1, pattern(10, 2));
        wait(self, receiving);
        EXPECT_EQ(in, pattern(10, 2));
    });
}

TEST_P(TransportConformance, SplitsAndForgetsFiveHundredTimes) {
    run([](Transport& self) {
        for (std::size_t i = 0; i < 500; ++i) {
            auto const part = split(self, all_ranks(self));
            ASSERT_EQ(pass_on(*part, 1, pattern(8, i)), pattern(8, i));
        }
    });
}

TEST_P(TransportConformance, HoldsManyGroupsAtOnce) {
    run([](Transport& self) {
        std::vector<std::unique_ptr<Transport>> parts;
        for (int i = 0; i < 100; ++i) parts.push_back(split(self, all_ranks(self)));
        std::ranges::reverse(parts);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            EXPECT_EQ(pass_on(*parts[i], 1, pattern(8, i)), pattern(8, i));
            if (i % 2) parts[i].reset();
        }
    });
}

}  // namespace sinew::conformance
