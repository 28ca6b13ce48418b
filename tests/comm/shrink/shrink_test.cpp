// SPDX-License-Identifier: Apache-2.0
// Communicators of the ranks that are left: threads as ranks, with and without sockets between them.
#include <numeric>

#include "tests/comm/ranks.hpp"
#include "tests/support/socket_ranks.hpp"

namespace sinew::tests {
namespace {

using testing::HasSubstr;

/// The ranks of `comm` as they were numbered in the world, which are the elements that each gives.
std::vector<int> members_of(Communicator& comm, int rank_in_world) {
    std::vector<int> members(static_cast<std::size_t>(comm.size()));
    comm.allgather(std::span(&rank_in_world, 1), members);
    return members;
}

/// What every collective path must still be able to do.
void expect_usable(Communicator& comm) {
    for (std::size_t const count : {std::size_t{1}, std::size_t{300}, std::size_t{300000}}) {
        std::vector<int> data(count, comm.rank() + 1);
        comm.allreduce(data, sum);
        EXPECT_EQ(data.front(), comm.size() * (comm.size() + 1) / 2);
        EXPECT_EQ(data.back(), data.front());
    }
    std::vector<int> later(1000, 1);
    comm.iallreduce(later, sum).wait();
    EXPECT_EQ(later.back(), comm.size());
    auto halves = comm.split(comm.rank() % 2);
    halves.barrier();
}

TEST(Shrink, LeavesOutARankThatHasThrown) {
    try {
        run_thread_ranks(4, [](Communicator& comm) {
            int const self = comm.rank();
            comm.barrier();
            if (self == 1) throw std::runtime_error("this rank ends");
            loss_seen_by([&] { comm.barrier(); });
            Communicator left = comm.shrink(long_time);
            EXPECT_THAT(members_of(left, self), testing::ElementsAre(0, 2, 3));
            expect_usable(left);
            EXPECT_THAT(thrown_by<UsageError>([&] { comm.shrink(); }), HasSubstr("called before"));
        });
        FAIL() << "rank 1 threw";
    } catch (std::runtime_error const& error) {
        EXPECT_STREQ(error.what(), "this rank ends");
    }
}

TEST(Shrink, OfOneIsNothingButANewCommunicator) {
    run_thread_ranks(1, [](Communicator& comm) {
        Communicator left = comm.shrink();
        EXPECT_EQ(left.size(), 1);
        expect_usable(left);
    });
}

TEST(Shrink, EndsTheCallsOfRanksThatKnowOfNoFailure) {
    run_thread_ranks(3, [](Communicator& comm) {
        comm.barrier();
        if (comm.rank() != 0) {
            EXPECT_THAT(loss_seen_by([&] { comm.barrier(); }), HasSubstr("shrinks"));
        }
        Communicator left = comm.shrink(long_time);
        EXPECT_EQ(left.size(), 3);
        expect_usable(left);
    });
}

TEST(Shrink, NamesTheRankThatDoesNotComeAndCanBeCalledAgain) {
    std::atomic<bool> timed_out{false};
    run_thread_ranks(3, [&](Communicator& comm) {
        comm.barrier();
        if (comm.rank() == 2) wait_until([&] { return timed_out.load(); });
        if (comm.rank() == 0) {
            EXPECT_THAT(thrown_by<Timeout>([&] { comm.shrink(300ms); }),
                        HasSubstr("waits for rank 2 on"));
            timed_out = true;
        }
        Communicator left = comm.shrink(long_time);
        EXPECT_EQ(left.size(), 3);
        expect_usable(left);
    });
}

class SocketShrink : public testing::TestWithParam<std::vector<int>> {};

TEST_P(SocketShrink, GoesOnUntilOneIsLeft) {
    int const size = static_cast<int>(GetParam().size());
    std::atomic<int> found_usable{0};  // by all ranks together
    testing_support::run_socket_ranks(GetParam(), [&](Communicator& world) {
        int const self = world.rank();
        std::optional<Communicator> left;
        Communicator* comm = &world;
        int all_found_usable = 0;
        for (int alive = size; alive > 1; --alive) {
            expect_usable(*comm);
            ++found_usable;
            all_found_usable += alive;
            // The first, the last, the middle one leave in turn: their ends of the connections close. Not before the others have
            // ended the calls above, for which they may still need each other.
            int const leaver = alive % 3 == 0 ? 0 : alive % 3 == 1 ? alive - 1 : alive / 2;
            if (comm->rank() == leaver) {
                wait_until([&] { return found_usable >= all_found_usable; });
                comm->state().abandon("this rank leaves");
                return;
            }
            loss_seen_by([&] { comm->barrier({.timeout = long_time}); });
            Communicator next = comm->shrink(long_time);
            EXPECT_EQ(next.size(), alive - 1);
            auto const members = members_of(next, self);
            EXPECT_TRUE(std::ranges::is_sorted(members));
            left.emplace(std::move(next));
            comm = &*left;
        }
        expect_usable(*comm);
    });
}

INSTANTIATE_TEST_SUITE_P(Nodes, SocketShrink,
                         testing::Values(std::vector{0, 0, 0, 0}, std::vector{0, 1, 2},
                                         std::vector{0, 0, 1, 1, 1}));

}  // namespace
}  // namespace sinew::tests
