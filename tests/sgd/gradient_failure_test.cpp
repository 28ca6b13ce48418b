// SPDX-License-Identifier: Apache-2.0
// Ranks that die, leave or stay away in the middle of a step.
#include <sinew/sgd/gradient_buckets.hpp>

#include <gmock/gmock.h>

#include <csignal>
#include <stdexcept>
#include <thread>

#include "tests/comm/ranks.hpp"
#include "tests/sgd/training.hpp"
#include "tests/support/process_ranks.hpp"

namespace sinew::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::ProcessRanks;

class Killed : public ::testing::TestWithParam<WireFormat> {};

// The signal comes anywhere in one of many steps that follow each other. finish() after the failure
// throws again, and the destructor returns.
TEST_P(Killed, InAStepIsNamedToTheOthers) {
    GradientOptions options = small_buckets;
    options.wire = GetParam();
    for (auto const delay : {0us, 70us, 500us, 2300us}) {
        ProcessRanks ranks({.ranks = 3}, [&](Communicator& comm) -> std::string {
            Tensors mine(21, comm.rank(), 0);
            GradientBuckets buckets(comm, mine.registered(), options);
            std::thread killer;
            auto const steps = [&] {
                for (int step = 0; step < 1'000'000; ++step) {
                    if (comm.rank() == 1 && step == 20)
                        killer = std::thread([&] {
                            std::this_thread::sleep_for(delay);
                            ::raise(SIGKILL);
                        });
                    all_ready(buckets);
                    buckets.finish();
                }
            };
            for (int turn = 0; turn < 2; ++turn) {
                auto const loss = loss_seen_by(steps);
                if (loss.find("gradient bucket ") != 0 || loss.find("rank 1") == loss.npos)
                    throw std::runtime_error("not as expected: " + loss);
            }
            return "two losses";
        });
        ASSERT_TRUE(ranks.all_have_ended());
        for (int const rank : {0, 2})
            EXPECT_THAT(ranks.result(rank), StartsWith("PeerLost"))
                << "the last barrier, of the communicator that has lost that rank, too";
    }
}

// As above; the text of the first error is what is looked at.
TEST_P(Killed, ErrorsNameBucketRankAndHost) {
    GradientOptions options = small_buckets;
    options.wire = GetParam();
    ProcessRanks ranks({.ranks = 3}, [&](Communicator& comm) -> std::string {
        Tensors mine(21, comm.rank(), 0);
        GradientBuckets buckets(comm, mine.registered(), options);
        for (int step = 0; step < 3; ++step) {
            all_ready(buckets);
            buckets.finish();
        }
        if (comm.rank() == 1) ::raise(SIGKILL);
        all_ready(buckets);
        buckets.finish();
        return "no error";
    });
    ASSERT_TRUE(ranks.all_have_ended());
    for (int const rank : {0, 2})
        EXPECT_THAT(ranks.result(rank),
                    AllOf(StartsWith("PeerLost: gradient bucket 0 of "),
                          HasSubstr("('tensor16' to "), HasSubstr("rank 1"), HasSubstr("node")));
}

INSTANTIATE_TEST_SUITE_P(Formats, Killed,
                         ::testing::Values(WireFormat::native, WireFormat::bf16, WireFormat::int8));

// Its background thread waits for the others then, and they for it.
TEST(GradientBucketsFailure, DestructorInTheMiddleOfAStepDoesNotWait) {
    on_ranks(3, [&](Communicator& comm) {
        Tensors mine(22, comm.rank(), 0);
        auto const before = std::chrono::steady_clock::now();
        {
            GradientBuckets buckets(comm, mine.registered(), small_buckets);
            if (comm.rank() == 0) {
                for (std::size_t i = buckets.size(); i-- > 8;) buckets.ready(i);
                std::this_thread::sleep_for(20ms);  // so that the thread is waiting
            } else {
                all_ready(buckets);
                EXPECT_THAT(loss_seen_by([&] { buckets.finish(); }),
                            HasSubstr("was destroyed in the middle of a step"));
                EXPECT_NE(loss_seen_by([&] {
                              all_ready(buckets);
                              buckets.finish();
                          }),
                          "");
            }
        }
        EXPECT_LT(std::chrono::steady_clock::now() - before, long_time);
        EXPECT_EQ(comm.allreduce_value(1, sum), 3);  // the parent is as good as before
    });
}

TEST(GradientBucketsFailure, DestructorDoesNotWaitForRanksThatNeverCome) {
    on_ranks(3, [&](Communicator& comm) {
        Tensors mine(23, comm.rank(), 0);
        {
            GradientBuckets buckets(comm, mine.registered(), small_buckets);
            if (comm.rank() == 0) {
                all_ready(buckets);
                std::this_thread::sleep_for(20ms);
            }
        }
        EXPECT_EQ(comm.allreduce_value(1, sum), 3);
    });
}

TEST(GradientBucketsFailure, ARankThatStaysAwayIsNamedAtTheDeadline) {
    Leaving leaving(2);
    on_ranks(3, [&](Communicator& comm) {
        Tensors mine(24, comm.rank(), 0);
        GradientOptions options = small_buckets;
        options.timeout = 300ms;
        GradientBuckets buckets(comm, mine.registered(), options);
        if (comm.rank() == 1) return leaving.wait_for_others();
        all_ready(buckets);
        EXPECT_THAT(loss_seen_by([&] { buckets.finish(); }),
                    AllOf(HasSubstr("gradient bucket 0 of "), HasSubstr("rank 1")));
        leaving.one_is_through();
    });
}

}  // namespace
}  // namespace sinew::tests
