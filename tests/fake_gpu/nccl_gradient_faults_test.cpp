// SPDX-License-Identifier: Apache-2.0
// What goes wrong while NCCL sums gradients ends in an error that names the rank, within the deadline, and
// changes no parameter.
#include <sinew/sgd/device_sgd.hpp>

#include "tests/fake_gpu/device_tensors.hpp"
#include "tests/fake_gpu/faults.hpp"
#include "tests/support/process_ranks.hpp"

namespace sinew::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// An optimiser of some buckets, with a gradient of 1 everywhere.
struct Training {
    explicit Training(Communicator& comm)
        : parameters(filled(0)), gradients(filled(1)),
          optimizer(comm, together(parameters, gradients), {.learning_rate = 1}, small_buckets) {}

    static Tensors filled(float value) {
        Tensors tensors(11, 0, 0);
        for (auto& values : tensors.values) std::fill(values.begin(), values.end(), value);
        return tensors;
    }
    void step() {
        for (std::size_t i = optimizer.size(); i-- > 0;) optimizer.ready(i);
        optimizer.step();
    }
    /// Whether all parameters are -`steps`.
    bool has_made(int steps) const {
        for (auto const& array : parameters.arrays)
            for (float const value : array.values())
                if (value != -static_cast<float>(steps)) return false;
        return true;
    }

    DeviceTensorsOf parameters, gradients;
    DeviceSgd optimizer;
};

/// Call 1 of NCCL finds out whether ranks can use it; each step then has one for each bucket.
TEST(NcclGradientFault, OnOneRankEndsAllAndChangesNoParameter) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    use_fake_kernels();
    for (Fault const fault :
         {Fault{Fault::hangs, 3, 0, 0}, Fault{Fault::is_refused, 3, 0, 0},
          Fault{Fault::fails_later, 3, 1, 0}, Fault{Fault::counts_wrong, 3, 0, 0},
          Fault{Fault::is_not_launched, 3, 0, 0}}) {
        SCOPED_TRACE(fault.kind);
        Faults const one(1, fault);
        auto const errors = errors_of([](Communicator& comm) {
            Training training(comm);
            try {
                training.step();
                ADD_FAILURE() << "no error";
            } catch (Error const&) {
                EXPECT_TRUE(training.has_made(0));
                throw;
            }
        });
        for (auto const& error : errors)
            EXPECT_THAT(error, AllOf(HasSubstr("rank "), HasSubstr("gradient bucket ")));
    }
}

TEST(NcclGradientFault, OfTheStartLeavesTheWayThroughTheHost) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    use_fake_kernels();
    Faults const one(1, {Fault::init_fails, 0, 0, 0});
    {
        Variable const deadline("SINEW_TIMEOUT", "2s");
        run_thread_ranks(3, [](Communicator& comm) {
            fake_cuda_use_device(comm.rank());
            Training training(comm);
            training.step();
            EXPECT_TRUE(training.has_made(1));
        });
    }
    auto const errors = errors_of([](Communicator& comm) { Training const refused(comm); }, "8s");
    for (auto const& error : errors)
        EXPECT_THAT(error, AllOf(HasSubstr("rank 1 on "), HasSubstr("Likely cause: ")));
}

TEST(NcclGradientFault, OfARankThatIsLateIsForgiven) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    use_fake_kernels();
    Faults const one(1, {Fault::is_late, 3, 300, 0});
    auto const errors = errors_of([](Communicator& comm) {
        Training training(comm);
        for (int step = 1; step <= 2; ++step) {
            training.step();
            EXPECT_TRUE(training.has_made(step));
        }
    });
    EXPECT_EQ(errors, std::vector<std::string>(3));
}

TEST(NcclGradientFault, OfARankThatDestroysItsBucketsIsNamed) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    use_fake_kernels();
    Faults const none;
    auto const errors = errors_of([](Communicator& comm) {
        Training training(comm);
        training.step();
        if (comm.rank() != 2) return training.step();
        training.optimizer.ready(training.optimizer.size() - 1);
    });
    EXPECT_THAT(errors[0], HasSubstr("destroyed in the middle of a step"));
    EXPECT_THAT(errors[1], HasSubstr("destroyed in the middle of a step"));
}

TEST(NcclGradientFault, OfARankThatIsKilledIsNamed) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    testing_support::ProcessRanks ranks({.ranks = 3}, [](Communicator& comm) {
        use_fake_kernels();
        use_fake_nccl();
        ::setenv("SINEW_NCCL", "1", 1);
        fake_cuda_use_device(comm.rank());
        std::string error;
        {
            Training training(comm);
            training.step();
            if (comm.rank() == 2) {
                training.optimizer.ready(training.optimizer.size() - 1);
                ::raise(SIGKILL);
            }
            try {
                training.step();
            } catch (PeerLost const& lost) {
                error = lost.what();
            }
            if (!training.has_made(1)) error += " and parameters changed";
        }
        Communicator left = comm.shrink();
        Training again(left);
        again.step();
        return error + (again.has_made(1) ? "; goes on" : "; wrong");
    });
    ASSERT_TRUE(ranks.all_have_ended());
    for (int rank : {0, 1})
        EXPECT_THAT(ranks.result(rank),
                    AllOf(HasSubstr("rank 2 on node has died"), HasSubstr("; goes on"),
                          testing::Not(HasSubstr("parameters changed"))));
}

TEST(NcclGradientFault, OfARankThatIsKilledInACallOfNcclIsNamed) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    testing_support::ProcessRanks ranks({.ranks = 3}, [](Communicator& comm) {
        use_fake_kernels();
        use_fake_nccl();
        ::setenv("SINEW_NCCL", "1", 1);
        fake_cuda_use_device(comm.rank());
        if (comm.rank() == 1) fake_nccl_fault(1, {Fault::kills, 4, 0, 0});
        Training training(comm);
        try {
            training.step();
        } catch (PeerLost const& lost) {
            return std::string(lost.what()) + (training.has_made(0) ? "" : " and changed");
        }
        return std::string("no error");
    });
    ASSERT_TRUE(ranks.all_have_ended());
    for (int rank : {0, 2})
        EXPECT_THAT(ranks.result(rank), AllOf(HasSubstr("rank 1 on node has died"),
                                              testing::Not(HasSubstr("changed"))));
}

}  // namespace
}  // namespace sinew::tests
