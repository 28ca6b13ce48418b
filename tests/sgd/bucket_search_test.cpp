// SPDX-License-Identifier: Apache-2.0
// Which bucket size is measured when, and which one all ranks keep.
#include "src/sgd/bucket_search.hpp"

#include <gmock/gmock.h>

#include <mutex>

#include "tests/comm/ranks.hpp"
#include "tests/sgd/training.hpp"

namespace sinew::tests {
namespace {

using sgd::BucketSearch;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t mib = std::size_t{1} << 20;

std::vector<std::size_t> sizes_of(BucketSearch const& search) {
    std::vector<std::size_t> all;
    for (BucketTiming const& timing : search.timings()) all.push_back(timing.bucket_bytes);
    return all;
}

TEST(BucketSearch, TriesSizesThatGiveDifferentBuckets) {
    EXPECT_THAT(sizes_of(BucketSearch(25 * mib, 100 * mib)),
                ElementsAre(25 * mib, mib, 4 * mib, 16 * mib, 64 * mib, 100 * mib));
    EXPECT_THAT(sizes_of(BucketSearch(25 * mib, 3 * mib)), ElementsAre(25 * mib, mib));
    EXPECT_THAT(sizes_of(BucketSearch(1000, 2000)), ElementsAre(1000, 2000));
    EXPECT_THAT(sizes_of(BucketSearch(25 * mib, 0)), ElementsAre(25 * mib));
}

TEST(BucketSearch, MeasuresEachSizeAndKeepsTheShortest) {
    BucketSearch search(2 * mib, 5 * mib);
    ASSERT_THAT(sizes_of(search), ElementsAre(2 * mib, mib, 4 * mib, 5 * mib));
    std::vector<double> const times{3, 5, 1, 2};
    for (std::size_t i = 0; i < times.size(); ++i) {
        EXPECT_EQ(search.current(), search.timings()[i].bucket_bytes);
        EXPECT_EQ(search.add(1000), BucketSearch::Next::same);  // not counted
        for (std::size_t step = 1; step < BucketSearch::counted; ++step)
            EXPECT_EQ(search.add(step == 2 ? 50 : times[i]), BucketSearch::Next::same);
        EXPECT_EQ(search.add(times[i]),
                  i + 1 < times.size() ? BucketSearch::Next::size : BucketSearch::Next::decision);
        EXPECT_EQ(search.timings()[i].seconds, times[i]);
    }
    EXPECT_FALSE(search.done());
    search.decide(std::vector<double>{3, 5, 4, 2});  // another rank was slow with the third
    EXPECT_TRUE(search.done());
    EXPECT_EQ(search.current(), 5 * mib);
    EXPECT_EQ(search.add(1), BucketSearch::Next::same);
}

TEST(BucketSearch, HasNothingToDoByDefault) {
    BucketSearch search;
    EXPECT_TRUE(search.done());
    EXPECT_EQ(search.add(1), BucketSearch::Next::same);
}

TEST(BucketTuning, AllRanksAgreeAndResultsStayRight) {
    std::mutex mutex;
    std::vector<BucketTuning> found;
    on_ranks(3, [&](Communicator& comm) {
        Tensors mine(21, comm.rank(), 0, 6, 20000);
        GradientOptions options{
            .bucket_bytes = 4 << 10, .first_bucket_bytes = 2 << 10, .tune_bucket_bytes = true};
        GradientBuckets buckets(comm, mine.registered(), options);
        EXPECT_FALSE(buckets.tuning().done);
        std::size_t const first = buckets.buckets();
        std::size_t fewest = first;
        int steps = 0;
        for (; !buckets.tuning().done && steps < 100; ++steps) {
            Tensors const next(21, comm.rank(), steps, 6, 20000);
            for (std::size_t i = 0; i < next.values.size(); ++i)
                std::copy(next.values[i].begin(), next.values[i].end(), mine.values[i].begin());
            ready_from_threads(buckets, static_cast<unsigned>(steps));
            EXPECT_EQ(buckets.finish().active_ranks, 3);
            if (steps % 3 == 0) {
                EXPECT_LT(largest_difference(mine.values, means(21, 3, steps, 6, 20000)), 2e-6);
            }
            fewest = std::min(fewest, buckets.buckets());
        }
        auto const tuning = buckets.tuning();
        EXPECT_EQ(steps, static_cast<int>(tuning.measured.size() * (BucketSearch::counted + 1)));
        EXPECT_LT(fewest, first);
        EXPECT_THAT(tuning.text(), HasSubstr("buckets of " + std::to_string(tuning.bucket_bytes) +
                                             " bytes (steps: 4096: "));
        all_ready(buckets);  // the next step has the size that was chosen
        buckets.finish();
        std::lock_guard const lock(mutex);
        found.push_back(tuning);
    });
    for (BucketTuning const& tuning : found) {
        EXPECT_EQ(tuning.bucket_bytes, found.front().bucket_bytes);
        ASSERT_EQ(tuning.measured.size(), found.front().measured.size());
        for (std::size_t i = 0; i < tuning.measured.size(); ++i)
            EXPECT_EQ(tuning.measured[i].seconds, found.front().measured[i].seconds);
    }
}

TEST(BucketTuning, GoesOnWhileARankHasJoined) {
    on_ranks(2, [](Communicator& comm) {
        std::vector<float> gradient(1 << 20, 1.0f), other(1 << 20, 1.0f);
        GradientBuckets buckets(comm, {Gradient("a", gradient), Gradient("b", other)},
                                {.bucket_bytes = 1 << 16, .tune_bucket_bytes = true});
        for (int step = 0; step < (comm.rank() == 0 ? 3 : 40); ++step) {
            std::fill(gradient.begin(), gradient.end(), 1.0f);
            all_ready(buckets);
            buckets.finish();
            ASSERT_EQ(gradient.back(), 1.0f);
        }
        EXPECT_EQ(buckets.join(), 1);
        EXPECT_TRUE(buckets.tuning().done);
    });
}

TEST(BucketTuning, RefusesWhatBelongsToBuckets) {
    run_thread_ranks(2, [](Communicator& comm) {
        std::vector<float> gradient(100);
        auto const refused = [&](Gradient const& tensor, GradientOptions const& options) {
            return thrown_by<UsageError>([&] { GradientBuckets(comm, {tensor}, options); });
        };
        EXPECT_THAT(
            refused(Gradient::allocate("t", 10, DataType::Kind::f32), {.tune_bucket_bytes = true}),
            HasSubstr("Gradient::allocate"));
        EXPECT_THAT(
            refused(Gradient("t", gradient), {.tune_bucket_bytes = true, .wire = WireFormat::int8}),
            HasSubstr("wire format int8"));
    });
}

}  // namespace
}  // namespace sinew::tests
