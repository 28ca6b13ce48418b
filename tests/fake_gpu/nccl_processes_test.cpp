// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes, as those of a job are. The test itself has no threads, since it forks them.
#include "tests/comm/ranks.hpp"
#include "tests/fake_gpu/fake_gpu.hpp"
#include "tests/support/process_ranks.hpp"

namespace sinew::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Fault = FakeNcclFault;

void reduce_hundred(Communicator& comm) {
    DeviceArray<float> data(100, 1.0F);
    comm.allreduce(data.span(), sum);
}

TEST(NcclRank, ThatIsKilledIsNamed) {
    testing_support::ProcessRanks ranks({.ranks = 3}, [](Communicator& comm) {
        use_fake_nccl();
        fake_cuda_use_device(comm.rank());
        if (comm.rank() == 2) fake_nccl_fault(2, {Fault::kills, 3, 0, 0});
        for (int i = 0; i < 5; ++i) reduce_hundred(comm);
        return std::string("no error");
    });
    ASSERT_TRUE(ranks.all_have_ended());
    for (int rank : {0, 1})
        EXPECT_THAT(ranks.result(rank), AllOf(HasSubstr("rank 2 on node has died"),
                                              HasSubstr("allreduce(f32 x 100, sum) #")));
}

TEST(NcclRank, ThatIsKilledIsLeftOutByShrink) {
    testing_support::ProcessRanks ranks({.ranks = 4}, [](Communicator& comm) {
        use_fake_nccl();
        ::setenv("SINEW_NCCL", "1", 1);
        fake_cuda_use_device(comm.rank());
        if (comm.rank() == 1) fake_nccl_fault(1, {Fault::kills, 3, 0, 0});
        try {
            for (int i = 0; i < 5; ++i) reduce_hundred(comm);
        } catch (PeerLost const&) {
            Communicator left = comm.shrink();
            DeviceArray<float> data(1000, static_cast<float>(comm.rank()));
            left.allreduce(data.span(), sum);
            auto const result = text(left.rank(), " of ", left.size(), ": ", data.values()[999]);
            left.barrier();
            return result;
        }
        return std::string("no error");
    });
    ASSERT_TRUE(ranks.all_have_ended());
    EXPECT_EQ(ranks.result(0), "0 of 3: 5");
    EXPECT_EQ(ranks.result(2), "1 of 3: 5");
    EXPECT_EQ(ranks.result(3), "2 of 3: 5");
}

TEST(NcclProcesses, ReduceOnTheirGpus) {
    testing_support::ProcessRanks ranks({.ranks = 4}, [](Communicator& comm) {
        use_fake_nccl();
        ::setenv("SINEW_NCCL", "1", 1);
        fake_cuda_use_device(comm.rank());
        DeviceArray<double> data(200000, double(comm.rank()));
        comm.allreduce(data.span(), sum);
        DeviceArray<double> all(comm.size() * 3U);
        comm.allgather(data.part(0, 3), all.span());
        return std::to_string(static_cast<int>(data.values()[199999] + all.values()[11]));
    });
    ASSERT_TRUE(ranks.all_have_ended());
    for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(ranks.result(rank), "12");
}

TEST(NcclProcesses, WithTheSameGpuAreNamed) {
    testing_support::ProcessRanks ranks({.ranks = 2}, [](Communicator& comm) {
        use_fake_nccl();
        ::setenv("SINEW_NCCL", "1", 1);
        fake_cuda_use_device(3);
        reduce_hundred(comm);
        return std::string("no error");
    });
    ASSERT_TRUE(ranks.all_have_ended());
    for (int rank : {0, 1})
        EXPECT_THAT(ranks.result(rank),
                    AllOf(HasSubstr("ranks 0 and 1 on "),
                          HasSubstr("use the same GPU (device 3 of rank 0, device 3 of rank 1)")));
}

TEST(NcclProcesses, WithoutNcclUseTheHost) {
    testing_support::ProcessRanks ranks({.ranks = 2}, [](Communicator& comm) {
        ::setenv("SINEW_NCCL_LIBRARY", "/nowhere/libnccl.so.2", 1);
        fake_cuda_use_device(comm.rank());
        reduce_hundred(comm);
        return std::string("same");
    });
    ASSERT_TRUE(ranks.all_have_ended());
    EXPECT_EQ(ranks.result(1), "same");
}

}  // namespace
}  // namespace sinew::tests
