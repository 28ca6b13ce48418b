// SPDX-License-Identifier: Apache-2.0
// A process without a launcher: a world of size 1.
#include <sinew/world.hpp>

#include <numeric>
#include <optional>

#include "tests/comm/ranks.hpp"
#if SINEW_HAVE_MPI
#include <sinew/mpi.hpp>
#endif

namespace sinew::tests {
namespace {

using testing::ElementsAre;

class WorldAlone : public testing::Test {
private:
    // Tests may themselves run under a launcher.
    Variable open_mpi_{"OMPI_COMM_WORLD_SIZE", nullptr}, hydra_{"PMI_RANK", nullptr},
        fd_{"PMI_FD", nullptr}, pmix_{"PMIX_RANK", nullptr},
        slurm_{"SLURM_STEP_NUM_TASKS", nullptr};
};

TEST_F(WorldAlone, HasOneRank) {
    World world;
    EXPECT_EQ(world.bootstrap(), "alone");
    EXPECT_EQ(world.rank(), 0);
    EXPECT_EQ(world.size(), 1);
    EXPECT_EQ(world.nodes().nodes(), 1);
    EXPECT_EQ(world.nodes().host_of(0), this_machine().host);
}

TEST_F(WorldAlone, IsDoubtedAmongTasksOfSlurm) {
    Variable const tasks("SLURM_STEP_NUM_TASKS", "4");
    for (auto const* task : {"0", "1"}) {
        Variable const number("SLURM_PROCID", task);
        testing::internal::CaptureStderr();
        World const world;
        auto const said = testing::internal::GetCapturedStderr();
        if (*task == '0') EXPECT_THAT(said, testing::HasSubstr("srun --mpi=pmix"));
        else EXPECT_EQ(said, "") << "once is enough";
    }
}

TEST_F(WorldAlone, DoesNotTouchMpi) {
    World world;
    world.communicator().barrier();
#if SINEW_HAVE_MPI
    int initialized = 1;
    MPI_Initialized(&initialized);
    EXPECT_EQ(initialized, 0);
    EXPECT_THAT(thrown_by<Unavailable>([&] { mpi::to_mpi(world.communicator()); }),
                testing::HasSubstr("not over MPI"));
    EXPECT_THAT(thrown_by<UsageError>([&] { mpi::communicator(MPI_COMM_NULL); }),
                testing::HasSubstr("MPI is not initialised"));
#endif
}

TEST_F(WorldAlone, LeavesTheArgumentsAlone) {
    char program[] = "program", option[] = "--option";
    char* arguments[] = {program, option, nullptr};
    World const world(2, arguments);
    EXPECT_EQ(arguments[1], option);
    EXPECT_STREQ(option, "--option");
}

TEST_F(WorldAlone, DoesEveryCollective) {
    World world;
    Communicator& comm = world.communicator();
    std::vector<int> const in{1, 2, 3};
    std::vector<std::size_t> const all{3};
    auto const expect_moved = [&](auto const& call) {
        std::vector<int> out(3);
        call(out);
        EXPECT_EQ(out, in);
    };
    expect_moved([&](auto& out) { comm.allreduce(in, out, sum); });
    expect_moved([&](auto& out) { comm.reduce_scatter(in, out, all, sum); });
    expect_moved([&](auto& out) { comm.reduce_scatter_block(in, out, max); });
    expect_moved([&](auto& out) { comm.allgather(in, out); });
    expect_moved([&](auto& out) { comm.allgatherv(in, out, all); });
    expect_moved([&](auto& out) { comm.reduce(in, out, sum); });
    expect_moved([&](auto& out) { comm.gather(in, out); });
    expect_moved([&](auto& out) { comm.gatherv(in, out, all); });
    expect_moved([&](auto& out) { comm.scatter(in, out); });
    expect_moved([&](auto& out) { comm.scatterv(in, out, all); });
    expect_moved([&](auto& out) { comm.alltoall(in, out); });
    expect_moved([&](auto& out) { comm.alltoallv(in, all, out, all); });
    expect_moved([&](auto& out) { comm.scan(in, out, sum); });
    expect_moved([&](auto& out) {
        out = in;
        comm.broadcast(out);
        comm.exscan(out, sum);
        comm.barrier();
    });
    expect_moved([&](auto& out) { comm.iallreduce(in, out, sum).wait(); });
    expect_moved([&](auto& out) { comm.sendrecv(in, 0, out, 0, 3); });
    EXPECT_EQ(comm.allreduce_value(2.5, average), 2.5);
    EXPECT_EQ(comm.split(3).size(), 1);
    EXPECT_EQ(comm.split_node().rank(), 0);
    comm.split_none();
}

TEST_F(WorldAlone, MayBeFollowedByAnother) {
    for (int i = 0; i < 3; ++i) {
        World world;
        EXPECT_EQ(world.communicator().allreduce_value(i, sum), i);
    }
}

TEST_F(WorldAlone, MayBeLeftByAnException) {
    EXPECT_THROW(
        {
            World world;
            throw std::runtime_error("on the way");
        },
        std::runtime_error);
}

TEST_F(WorldAlone, RefusesASettingThatIsNone) {
    Variable const timeout("SINEW_TIMEOUT", "yesterday");
    EXPECT_THAT(thrown_by<UsageError>([] { World(); }),
                testing::AllOf(testing::HasSubstr("SINEW_TIMEOUT=yesterday"),
                               testing::HasSubstr("such as 30s")));
}

TEST_F(WorldAlone, IsNotTakenForALaunchedOneWithoutMpi) {
#if SINEW_HAVE_MPI
    GTEST_SKIP() << "built with MPI: such a world is found";
#endif
    for (char const* name : {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK"}) {
        Variable const launched(name, "1");
        EXPECT_THAT(thrown_by<Unavailable>([] { World(); }),
                    testing::AllOf(testing::HasSubstr(std::string(name) + " is set"),
                                   testing::HasSubstr("SINEW_WITH_MPI=ON")));
    }
}

}  // namespace
}  // namespace sinew::tests
