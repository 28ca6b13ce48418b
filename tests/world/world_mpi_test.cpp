// SPDX-License-Identifier: Apache-2.0
// Worlds in an application that has called MPI_Init, at the thread level of the run.
#include <sinew/mpi.hpp>
#include <sinew/world.hpp>

#include <gmock/gmock.h>

#include <cstdlib>
#include <string>

namespace sinew::tests {
namespace {

int mpi_rank() {
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

TEST(WorldOverMpi, HasTheRanksOfTheApplication) {
    World world;
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EXPECT_EQ(world.bootstrap(), "mpi");
    EXPECT_EQ(world.rank(), mpi_rank());
    EXPECT_EQ(world.size(), size);
    EXPECT_EQ(world.nodes().nodes(), 1);
    EXPECT_EQ(world.nodes().local_rank, world.rank());
}

TEST(WorldOverMpi, UsesOtherThreadsOnlyWhereMpiAllows) {
    World world;
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    EXPECT_EQ(world.communicator().transport().threading() == Threading::any,
              level == MPI_THREAD_MULTIPLE);
    std::vector<float> data(100000, 1);
    Request request = world.communicator().iallreduce(data, sum);
    Communicator node = world.communicator().split_node();
    EXPECT_EQ(node.allreduce_value(1, sum), world.size());
    request.wait();
    EXPECT_THAT(data, testing::Each(static_cast<float>(world.size())));
}

TEST(WorldOverMpi, LeavesMpiToTheApplication) {
    for (int i = 0; i < 3; ++i) {
        World world;
        EXPECT_EQ(world.communicator().allreduce_value(i, max), i);
    }
    int finalized = 1, sum_of_ranks = 0;
    MPI_Finalized(&finalized);
    EXPECT_EQ(finalized, 0);
    int const rank = mpi_rank();
    MPI_Allreduce(&rank, &sum_of_ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EXPECT_EQ(sum_of_ranks, size * (size - 1) / 2);
}

TEST(WorldOverMpi, MeetsNoMessagesOfTheApplication) {
    int const rank = mpi_rank();
    int theirs = -1;
    MPI_Request pending = MPI_REQUEST_NULL;
    MPI_Irecv(&theirs, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &pending);
    {
        World world;
        world.communicator().barrier();
        EXPECT_EQ(world.communicator().allreduce_value(1, sum), world.size());
    }
    MPI_Send(&rank, 1, MPI_INT, rank, 5, MPI_COMM_WORLD);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    EXPECT_EQ(theirs, rank);
}

TEST(WorldOverMpi, FindsTheThreadLevelThatTheRunAskedFor) {
    char const* const asked = std::getenv("SINEW_TEST_MPI_THREAD");
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (asked == nullptr || std::string(asked) == "multiple") GTEST_SKIP() << "not asked for less";
    EXPECT_LT(level, MPI_THREAD_MULTIPLE);
}

}  // namespace
}  // namespace sinew::tests
