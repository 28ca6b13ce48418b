// SPDX-License-Identifier: Apache-2.0
// Buffers in memory that the ranks of a node share.
#include <sinew/thread_ranks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <numeric>
#include <span>
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

/// Elements of a size that divides no cache line, or longer than what is combined at a time.
template <std::size_t bytes>
struct Odd {
    std::array<std::uint8_t, bytes> part;
    bool operator==(Odd const&) const = default;
};
template <std::size_t bytes>
ReduceOp difference() {
    return reduce_op<Odd<bytes>>(
        [](Odd<bytes> const& a, Odd<bytes> const& b) {
            Odd<bytes> c;
            for (std::size_t i = 0; i < bytes; ++i)
                c.part[i] = static_cast<std::uint8_t>(a.part[i] - 3 * b.part[i]);
            return c;
        },
        Commutative::no);
}

/// Sums `count` elements in shared memory, `shift` elements after the begin of what was allocated. Nothing around them changes.
template <class T>
void reduce_shifted(Communicator& comm, ReduceOp const& op, std::size_t count, std::size_t shift,
                    bool in_place) {
    auto in = comm.allocate<T>(count + shift + 1), out = comm.allocate<T>(count + shift + 1);
    auto const values_of = [&](int rank) {
        std::vector<T> values(count);
        auto* const bytes = reinterpret_cast<std::uint8_t*>(values.data());
        for (std::size_t i = 0; i < count * sizeof(T); ++i)
            bytes[i] =
                static_cast<std::uint8_t>(i * 31 + static_cast<std::size_t>(rank) * 7 + i / 253);
        return values;
    };
    auto const own = values_of(comm.rank());
    std::copy(own.begin(), own.end(), in.begin() + static_cast<std::ptrdiff_t>(shift));
    std::span<T> const from(in.data() + shift, count);
    std::span<T> const to(in_place ? from.data() : out.data() + shift, count);
    in_place ? comm.allreduce(to, op) : comm.allreduce(std::span<T const>(from), to, op);

    std::vector<T> expected = values_of(0);
    for (int rank = 1; rank < comm.size(); ++rank) {
        auto const next = values_of(rank);
        auto* const sums = reinterpret_cast<std::uint8_t*>(expected.data());
        auto const* const bytes = reinterpret_cast<std::uint8_t const*>(next.data());
        int const factor = op.kind() == ReduceOp::Kind::sum ? 1 : -3;
        for (std::size_t i = 0; i < count * sizeof(T); ++i)
            sums[i] = static_cast<std::uint8_t>(sums[i] + factor * bytes[i]);
    }
    EXPECT_TRUE(std::ranges::equal(to, expected))
        << count << " of " << sizeof(T) << " bytes, shifted by " << shift;
    auto const& around = in_place ? in : out;
    auto const untouched = [&](std::size_t i) { return around[i] == T{}; };
    EXPECT_TRUE(untouched(count + shift) && (shift == 0 || untouched(shift - 1)));
}

// Results are stored past the cache, in lines as far as elements allow.
TEST(NodeBuffer, HasElementsOfAnySizeAtAnyAddress) {
    for (int const ranks : {2, 3})
        run_thread_ranks({.ranks = ranks}, [](Communicator& comm) {
            for (bool const in_place : {false, true})
                for (std::size_t const shift : {0u, 1u, 5u}) {
                    reduce_shifted<std::uint8_t>(comm, sum, 100'003, shift, in_place);
                    reduce_shifted<Odd<12>>(comm, difference<12>(), 9'001, shift, in_place);
                    reduce_shifted<Odd<1500>>(comm, difference<1500>(), 77, shift, in_place);
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
