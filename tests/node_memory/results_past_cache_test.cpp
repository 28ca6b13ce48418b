// SPDX-License-Identifier: Apache-2.0
// Long results that are stored past the cache: the same bits, at every alignment, and nothing beyond them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sinew/comm/reduce_op.hpp>

#include "collectives/kernels/targets.hpp"
#include "collectives/node/node_call.hpp"
#include "collectives/node/results_past_cache.hpp"
#include "collectives/node/two_shot.hpp"
#include "collectives/node/two_shot_in_place.hpp"
#include "tests/node_memory/patient_waiter.hpp"
#include "tests/support/thread_ranks.hpp"

namespace sinew::node_memory {
namespace {

using collectives::Arguments;
using collectives::Completion;
using collectives::Reducer;
using collectives::node::NodeCall;
using sinew::testing::room_memory;
using Bytes = std::vector<std::byte>;

struct Tile {
    std::size_t at, bytes;
};

TEST(BypassingTiles, CoverAllInWholeElementsFromLineToLine) {
    alignas(64) static std::array<std::byte, 64> line;
    for (std::size_t const element : {1u, 2u, 4u, 8u, 16u, 12u, 100u, 1024u, 5000u})
        for (std::size_t shift = 0; shift < 64; shift += element < 64 ? element : 16)
            for (std::size_t const count : {0u, 1u, 2u, 63u, 64u, 1000u, 3001u}) {
                std::vector<Tile> tiles;
                collectives::node::for_each_bypassing_tile(line.data() + shift, count * element,
                                                           element,
                                                           [&](std::size_t at, std::size_t bytes) {
                                                               tiles.push_back({at, bytes});
                                                           });
                std::size_t end = 0;
                for (Tile const& tile : tiles) {
                    ASSERT_EQ(tile.at, end);
                    ASSERT_GT(tile.bytes, 0u);
                    ASSERT_EQ(tile.bytes % element, 0u);
                    ASSERT_LE(tile.bytes, std::max(collectives::node::past_cache_tile, element));
                    end += tile.bytes;
                    bool const divides = 64 % element == 0;
                    if (divides && end < count * element) {
                        ASSERT_EQ((shift + end) % 64, 0u) << element << ' ' << shift;
                    }
                }
                ASSERT_EQ(end, count * element);
            }
}

/// Elements longer than a tile, and of a size that divides no cache line.
struct Long {
    std::array<std::uint8_t, 1500> part;
};
template <class T>
ReduceOp difference() {
    return reduce_op<T>(
        [](T const& a, T const& b) {
            T c;
            for (std::size_t i = 0; i < c.part.size(); ++i)
                c.part[i] = static_cast<std::uint8_t>(a.part[i] - 3 * b.part[i]);
            return c;
        },
        Commutative::no);
}

struct Case {
    DataType type;
    ReduceOp op;
    std::size_t count, shift;
    bool in_place = false;
    Completion completion = {};
};

template <class T>
Bytes numbers(int rank, std::size_t count) {
    std::vector<T> numbers(count);
    for (std::size_t i = 0; i < count; ++i)
        numbers[i] = static_cast<T>(i % 1013) / static_cast<T>(rank + 3);
    Bytes bytes(count * sizeof(T));
    if (count > 0) std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
}

/// Numbers that are rounded, or any bits of elements that are not.
Bytes input(int rank, Case const& c) {
    using Kind = DataType::Kind;
    Kind const kind = c.type.kind();
    if (kind == Kind::f32) return numbers<float>(rank, c.count);
    if (kind == Kind::f64) return numbers<double>(rank, c.count);
    if (kind == Kind::c64) return numbers<float>(rank, 2 * c.count);
    if (kind == Kind::c128) return numbers<double>(rank, 2 * c.count);
    Bytes bytes(c.count * c.type.size());
    if (c.type.is_16_bit_float()) {
        Bytes const wide = numbers<float>(rank, c.count);
        collectives::narrow(bytes.data(), reinterpret_cast<float const*>(wide.data()), c.count,
                            c.type);
        return bytes;
    }
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(rank) * 7 + 1);
    return bytes;
}

void expect_same(int ranks, Case const& c) {
    Reducer const reduce(c.op, c.type);
    std::vector<Bytes> in;
    for (int r = 0; r < ranks; ++r) in.push_back(input(r, c));
    std::vector<void const*> pointers;
    for (Bytes const& bytes : in) pointers.push_back(bytes.data());
    Bytes expected(in[0].size());
    reduce.combine(expected.data(), pointers, c.count);
    c.completion.apply(expected.data(), c.count, c.type);

    constexpr std::size_t ring = std::size_t{1} << 20, around = 64;
    auto const memory = room_memory(ranks, ring);
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            try {
                Room room(memory, rank, ranks, ring, nullptr);
                PatientWaiter waiter;
                Bytes all(c.shift + expected.size() + around, std::byte{0x5a});
                Bytes const& own = in[static_cast<std::size_t>(rank)];
                std::byte* const out = all.data() + c.shift;
                if (c.in_place && !own.empty()) std::memcpy(out, own.data(), own.size());
                Arguments args;
                args.in = c.in_place ? out : own.data();
                args.out = out;
                args.count = c.count;
                args.element = c.type.size();
                args.reduce = &reduce;
                args.completion = c.completion;
                NodeCall const call{room, waiter, args};
                StoreChoice::Stores const past_cache{.results_bypass = true};
                room.begin();
                using namespace collectives::node;
                if (ranks == 2) TwoShotInPlace(call, past_cache).run();
                else TwoShot(call, past_cache, room.one_domain()).run();
                std::lock_guard const lock(mutex);
                EXPECT_EQ(std::memcmp(out, expected.data(), expected.size()), 0)
                    << "rank " << rank << ", shifted by " << c.shift;
                for (std::size_t i = 0; i < around; ++i)
                    ASSERT_EQ(out[expected.size() + i], std::byte{0x5a}) << i << " bytes beyond";
            } catch (std::exception const& error) {
                std::lock_guard const lock(mutex);
                ADD_FAILURE() << "rank " << rank << ": " << error.what();
            }
        });
    for (std::thread& thread : threads) thread.join();
}

class ResultsPastCache : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, ResultsPastCache, ::testing::Values(2, 3));

TEST_P(ResultsPastCache, AreSumsAndAveragesAtEveryAlignment) {
    for (std::size_t const shift : {0u, 4u, 16u, 60u})
        for (bool const in_place : {false, true})
            for (Completion const& completion : {Completion{}, Completion::divide_by(3)})
                expect_same(GetParam(),
                            {DataType::Kind::f32, sum, 50001, shift, in_place, completion});
}

TEST_P(ResultsPastCache, HaveElementsOfAnySize) {
    for (bool const in_place : {false, true}) {
        expect_same(GetParam(), {data_type_of<Long>(), difference<Long>(), 77, 0, in_place});
        expect_same(GetParam(), {DataType::Kind::u8, sum, 100003, 5, in_place});
    }
}

/// Combines to three places, the last of which is where an input is, and expects the same in all, and nothing around them.
void expect_same_in_all(std::size_t inputs, Case const& c, std::size_t other_shift) {
    Reducer const reduce(c.op, c.type);
    std::size_t const bytes = c.count * c.type.size();
    constexpr std::size_t around = 64;
    std::vector<Bytes> in;
    for (std::size_t i = 0; i < inputs; ++i) in.push_back(input(static_cast<int>(i), c));
    std::vector<void const*> expected_in;
    for (Bytes const& each : in) expected_in.push_back(each.data());
    Bytes expected(bytes);
    reduce.combine(expected.data(), expected_in, c.count);
    c.completion.apply(expected.data(), c.count, c.type);

    constexpr std::size_t line = 64;
    std::array<Bytes, 3> memory;
    std::array<std::byte*, 3> results;
    for (std::size_t i = 0; i < results.size(); ++i) {
        memory[i].assign(bytes + 3 * line + around, std::byte{0x5a});
        auto const begin = reinterpret_cast<std::uintptr_t>(memory[i].data());
        results[i] = memory[i].data() + (0 - begin) % line + (i == 1 ? other_shift : c.shift);
    }
    std::vector<std::byte const*> from;
    for (Bytes const& each : in) from.push_back(each.data());
    if (bytes > 0) std::memcpy(results[2], in[1].data(), bytes);
    from[1] = results[2];
    Arguments args;
    args.element = c.type.size();
    args.reduce = &reduce;
    args.completion = c.completion;
    collectives::node::ResultsPastCache(args, from, results).combine(bytes);
    collectives::kernels::fence_streams();
    for (std::size_t i = 0; i < results.size(); ++i) {
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), results[i]))
            << "result " << i << " of " << inputs << " inputs, " << bytes << " bytes, shifted by "
            << c.shift << " and " << other_shift;
        for (std::byte const* b = memory[i].data(); b < memory[i].data() + memory[i].size(); ++b)
            if (b < results[i] || b >= results[i] + bytes) {
                ASSERT_EQ(*b, std::byte{0x5a}) << b - results[i];
            }
    }
}

TEST(ResultsInSeveralPlaces, AreTheSameOfAllTypesWithEveryInstructionSet) {
    using Kind = DataType::Kind;
    for (std::string const& target : collectives::kernels::targets()) {
        SCOPED_TRACE(target);
        collectives::kernels::ForcedTarget const forced(target);
        for (Kind const type : {Kind::f16, Kind::bf16, Kind::f32, Kind::f64, Kind::c64, Kind::c128})
            for (Completion const& completion :
                 {Completion{}, Completion::multiply_by(0.3), Completion::divide_by(3)})
                for (std::size_t const inputs : {2u, 5u})
                    expect_same_in_all(inputs, {type, sum, 1003, 0, false, completion}, 0);
        for (Kind const type : {Kind::f16, Kind::bf16, Kind::f32, Kind::i8, Kind::u64})
            for (ReduceOp const& op : {sum, prod, min, max})
                expect_same_in_all(3, {type, op, 1003, 0}, 0);
        for (ReduceOp const& op : {bit_xor, logical_and})
            expect_same_in_all(3, {Kind::i32, op, 1003, 4}, 4);
    }
}

TEST(ResultsInSeveralPlaces, AreTheSameAtEveryAlignmentAndLength) {
    for (std::size_t const count : {0u, 1u, 15u, 16u, 255u, 256u, 257u, 1000u, 5003u})
        for (std::size_t const shift : {0u, 4u, 60u})
            for (std::size_t const other_shift : {shift, std::size_t{32}})
                for (Completion const& completion : {Completion{}, Completion::divide_by(3)})
                    expect_same_in_all(2,
                                       {DataType::Kind::f32, sum, count, shift, false, completion},
                                       other_shift);
}

TEST(ResultsInSeveralPlaces, HaveAnyNumberOfInputsAndElementsOfAnySize) {
    for (std::size_t const inputs : {2u, 3u, 8u, 9u}) {
        expect_same_in_all(inputs,
                           {DataType::Kind::f32, sum, 3001, 0, false, Completion::divide_by(3)}, 0);
        expect_same_in_all(inputs, {DataType::Kind::u8, sum, 10003, 5}, 5);
        expect_same_in_all(inputs, {DataType::Kind::c128, prod, 1003, 8}, 8);
        expect_same_in_all(inputs, {data_type_of<Long>(), difference<Long>(), 7, 0}, 0);
    }
}

}  // namespace
}  // namespace sinew::node_memory
