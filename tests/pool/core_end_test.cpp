// SPDX-License-Identifier: Apache-2.0
//
// How jobs and pools are ended before their time, and at it.
#include "tests/pool/core_fixture.hpp"

namespace sinew::pool {
namespace {

using testing::ElementsAre;

TEST_F(CoreTest, ACancelledJobIsDroppedRevokedAskedAndThenKilled) {
    make(1, 2);
    JobOptions options;
    options.chunk = 2;
    submit(1, 10, options);
    auto const batches = all<SendBatch>();
    tell(JobCancelled{1});
    EXPECT_THAT(tasks(all<Drop>()), ElementsAre("1:4+6"));
    EXPECT_EQ(all<Revoke>().size(), 2U);
    EXPECT_EQ(all<AskToStop>().size(), 2U);
    tell(Revoked{batches[0].worker, batches[0].batch, 1});
    tell(Revoked{batches[1].worker, batches[1].batch, 0});
    forget();
    wait(2s);
    EXPECT_EQ(one<KillWorker>().worker, batches[0].worker);
    die(batches[0].worker, Cause::planned, Running{batches[0].batch, 0});
    EXPECT_THAT(tasks(all<Drop>()), ElementsAre("1:0+1"));
    EXPECT_EQ(all<JobEnded>().size(), 1U);
}

TEST_F(CoreTest, CloseFinishesWhatThereIs) {
    make(1, 1);
    submit(1, 1);
    tell(Close{});
    EXPECT_TRUE(none<ReleaseWorker>());
    finish(one<SendBatch>());
    auto const released = one<ReleaseWorker>();
    EXPECT_TRUE(none<Ended>());
    die(released.worker, Cause::planned);
    EXPECT_EQ(all<Ended>().size(), 1U);
    EXPECT_TRUE(none<StartWorker>());
}

TEST_F(CoreTest, TerminateDropsEverything) {
    make(2, 1);
    submit(1, 100);
    auto const held = core_.stats().held;
    tell(Terminate{});
    std::uint64_t dropped = 0;
    for (auto const& drop : all<Drop>()) dropped += drop.count;
    EXPECT_GT(held, 0U);
    EXPECT_EQ(dropped, 100U);
    EXPECT_EQ(all<KillWorker>().size(), 2U);
    EXPECT_EQ(all<JobEnded>().size(), 1U);
    for (auto const worker : workers_) die(worker, Cause::planned);
    EXPECT_EQ(all<Ended>().size(), 1U);
}

}  // namespace
}  // namespace sinew::pool
