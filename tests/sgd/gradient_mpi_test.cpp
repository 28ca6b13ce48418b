// SPDX-License-Identifier: Apache-2.0
// Steps whose messages are MPI's, on ranks that are processes.
#include <sinew/sgd/gradient_buckets.hpp>
#include <sinew/world.hpp>

#include <gmock/gmock.h>

#include "tests/comm/ranks.hpp"
#include "tests/sgd/training.hpp"

namespace sinew::tests {
namespace {

TEST(GradientBucketsOverMpi, GivesTheMeanInAllFormats) {
    on_ranks(3, [](Communicator& comm) {
        for (auto const wire : {WireFormat::native, WireFormat::bf16, WireFormat::int8}) {
            Tensors mine(31, comm.rank(), 0);
            GradientBuckets buckets(
                comm, mine.registered(),
                {.bucket_bytes = 16 << 10, .first_bucket_bytes = 2 << 10, .wire = wire});
            for (int step = 0; step < 20; ++step) {
                Tensors const next(31, comm.rank(), step);
                for (std::size_t i = 0; i < next.values.size(); ++i)
                    std::copy(next.values[i].begin(), next.values[i].end(), mine.values[i].begin());
                ready_from_threads(buckets, static_cast<unsigned>(step));
                EXPECT_EQ(buckets.finish().active_ranks, comm.size());
                EXPECT_LT(largest_difference(mine.values, means(31, comm.size(), step)),
                          wire == WireFormat::native ? 2e-6 : 0.1);
            }
            if (comm.rank() == 0) {
                all_ready(buckets);
                buckets.finish();
            }
            EXPECT_EQ(buckets.join(), 0);
        }
    });
}

}  // namespace
}  // namespace sinew::tests
