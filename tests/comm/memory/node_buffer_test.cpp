// SPDX-License-Identifier: Apache-2.0
// Buffers in memory that the ranks of a node share.
#include <sinew/thread_ranks.hpp>

#include <cstddef>
#include <limits>
#include <new>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/communicator.hpp>

namespace sinew {
namespace {

TEST(NodeBuffer, IsZeroedSharedAndReusable) {
    run_thread_ranks({.ranks = 3}, [](Communicator& comm) {
        for (int round = 0; round < 3; ++round) {
            auto buffer = comm.allocate<int>(100'000);
            EXPECT_TRUE(buffer.shared());
            EXPECT_EQ(std::accumulate(buffer.begin(), buffer.end(), 0), 0);
            std::fill(buffer.begin(), buffer.end(), 1);
        }
    });
}

TEST(NodeBuffer, OfNoElementsOrTooManyIsDefined) {
    run_thread_ranks({.ranks = 2}, [](Communicator& comm) {
        EXPECT_EQ(comm.allocate<double>(0).size(), 0u);
        EXPECT_THROW(comm.allocate<double>(std::numeric_limits<std::size_t>::max()),
                     std::bad_alloc);
    });
}

TEST(NodeBuffer, IsPrivateWhereNobodySharesTheNode) {
    run_thread_ranks({.ranks = 1}, [](Communicator& comm) {
        auto buffer = comm.allocate<int>(10);
        EXPECT_FALSE(buffer.shared());
        EXPECT_EQ(buffer[9], 0);
    });
}

// Every mixture of shared and private buffers gives the same sums, in place or not.
TEST(NodeBuffer, MixesWithPrivateBuffers) {
    constexpr std::size_t count = 50'000;
    run_thread_ranks({.ranks = 4}, [](Communicator& comm) {
        auto const own = static_cast<unsigned>(comm.rank());
        for (unsigned mixture = 0; mixture < 256; mixture += 5) {
            bool const in_shared = (mixture >> own & 1) != 0;
            bool const out_shared = (mixture >> (own + 4) & 1) != 0;
            auto in = comm.allocate<float>(count), out = comm.allocate<float>(count);
            std::vector<float> private_in(count), private_out(count);
            float* const from = in_shared ? in.data() : private_in.data();
            float* const to = out_shared ? out.data() : private_out.data();
            for (std::size_t i = 0; i < count; ++i)
                from[i] = static_cast<float>(own + 1) * static_cast<float>(i % 100);
            comm.allreduce(ConstBuffer(from, count, DataType::Kind::f32),
                           Buffer(to, count, DataType::Kind::f32), sum);
            comm.allreduce(Buffer(from, count, DataType::Kind::f32), sum);
            for (std::size_t i = 0; i < count; ++i) {
                float const wanted = 10.0F * static_cast<float>(i % 100);
                ASSERT_EQ(to[i], wanted) << i << ", mixture " << mixture;
                ASSERT_EQ(from[i], wanted) << i << ", mixture " << mixture;
            }
            comm.broadcast(Buffer(to, count, DataType::Kind::f32), 2);
            std::vector<float> all(4 * count);
            comm.allgather(ConstBuffer(to, count, DataType::Kind::f32), all);
            for (std::size_t i = 0; i < all.size(); ++i)
                ASSERT_EQ(all[i], 10.0F * static_cast<float>(i % count % 100)) << i;
        }
    });
}

TEST(NodeBuffer, OutlivesItsCommunicator) {
    run_thread_ranks({.ranks = 2}, [](Communicator& comm) {
        NodeBuffer<int> buffer;
        {
            Communicator part = comm.dup();
            buffer = part.allocate<int>(5000);
        }
        buffer[4999] = 7;
        comm.barrier();
        EXPECT_EQ(buffer[4999], 7);
    });
}

}  // namespace
}  // namespace sinew
