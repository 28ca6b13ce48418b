// SPDX-License-Identifier: Apache-2.0
// Collectives that distinguish domains, compared bit for bit with the same calls that do not.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sinew/comm/float16.hpp>
#include <sinew/comm/reduce_op.hpp>

#include "collectives/node/by_domain.hpp"
#include "collectives/node/node_call.hpp"
#include "src/base/text.hpp"
#include "tests/node_memory/patient_waiter.hpp"
#include "tests/support/thread_ranks.hpp"

namespace sinew::node_memory {
namespace {

using collectives::Arguments;
using collectives::Blocks;
using collectives::Completion;
using collectives::node::NodeCall;
using sinew::testing::room_memory;
using Bytes = std::vector<std::byte>;
using Body = std::function<Bytes(Room&, Waiter&)>;

/// The result of `body` on each rank, in a room with these domains.
std::vector<Bytes> run(int ranks, std::size_t ring, Domains const& domains, Body const& body) {
    auto const memory = room_memory(ranks, ring);
    std::vector<Bytes> results(static_cast<std::size_t>(ranks));
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            try {
                Room room(memory, rank, ranks, ring, nullptr);
                room.use_domains(domains);
                PatientWaiter waiter;
                results[static_cast<std::size_t>(rank)] = body(room, waiter);
            } catch (std::exception const& error) {
                std::lock_guard const lock(mutex);
                ADD_FAILURE() << "rank " << rank << ": " << error.what();
            }
        });
    for (std::thread& thread : threads) thread.join();
    return results;
}

/// Numbers whose sum depends on the order of its terms.
template <class T>
std::vector<T> numbers(int rank, std::size_t count) {
    std::vector<T> all(count);
    std::uint64_t state = static_cast<std::uint64_t>(rank) * 7919 + count;
    for (T& number : all) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        auto const bits = static_cast<std::uint32_t>(state >> 33);
        if constexpr (std::is_integral_v<T>) number = static_cast<T>(bits);
        else
            number =
                T(static_cast<float>(bits % 65536) / static_cast<float>(1u << (bits >> 16) % 24));
    }
    return all;
}
template <class T>
Bytes bytes_of(std::vector<T> const& values) {
    Bytes bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

/// Twelve bytes that an operation combines in a way that is neither commutative nor in whole words.
struct Odd {
    std::array<std::uint8_t, 12> part;
};
ReduceOp odd_op() {
    return reduce_op<Odd>(
        [](Odd const& a, Odd const& b) {
            Odd c;
            for (std::size_t i = 0; i < c.part.size(); ++i)
                c.part[i] = static_cast<std::uint8_t>(a.part[i] * 3 + b.part[i] * 5 + 1);
            return c;
        },
        Commutative::no);
}

struct Call {
    void (*algorithm)(NodeCall const&);
    int root;
    bool in_place;
};

template <class T>
Bytes reduced(Room& room, Waiter& waiter, Call const& call, std::vector<T> in,
              collectives::Reducer const& reduce) {
    std::vector<T> out(in.size());
    bool const at_root = call.algorithm == collectives::node::allreduce || room.rank() == call.root;
    Arguments args;
    args.count = in.size();
    args.element = sizeof(T);
    args.root = call.root;
    args.reduce = &reduce;
    args.in = reinterpret_cast<std::byte const*>(in.data());
    args.out = reinterpret_cast<std::byte*>(call.in_place ? in.data() : out.data());
    // Only the last domain may complete the results.
    if constexpr (std::is_floating_point_v<T>) args.completion = Completion::divide_by(3);
    if (!at_root) args.out = nullptr;
    for (int again = 0; again < 2; ++again) {
        call.algorithm({room, waiter, args});
        if (call.in_place) break;
    }
    return at_root ? bytes_of(call.in_place ? in : out) : Bytes{};
}

/// `count` elements in all: equal parts, or more for higher ranks.
Bytes reduce_scatter(Room& room, Waiter& waiter, std::size_t count, bool equal) {
    auto const ranks = static_cast<std::size_t>(room.size());
    auto const self = static_cast<std::size_t>(room.rank());
    std::vector<std::size_t> counts(ranks), offsets(ranks);
    for (std::size_t r = 0; r < ranks; ++r)
        counts[r] = equal ? count / ranks : 2 * count * r / (ranks * ranks);
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), std::size_t{0});
    auto const in = numbers<float>(room.rank(), offsets.back() + counts.back());
    std::vector<float> out(counts[self]);
    collectives::Reducer const reduce(sum, DataType::Kind::f32);
    Arguments args;
    args.in = reinterpret_cast<std::byte const*>(in.data());
    args.out = reinterpret_cast<std::byte*>(out.data());
    args.count = counts[self];
    args.element = sizeof(float);
    args.blocks = Blocks::listed(counts, offsets, sizeof(float));
    args.reduce = &reduce;
    args.completion = Completion::divide_by(3);
    for (int again = 0; again < 2; ++again) collectives::node::reduce_scatter({room, waiter, args});
    return bytes_of(out);
}

Bytes broadcast(Room& room, Waiter& waiter, int root, std::size_t count) {
    std::vector<std::uint8_t> data(count);
    Arguments args;
    args.out = reinterpret_cast<std::byte*>(data.data());
    args.count = count;
    args.root = root;
    for (int again = 0; again < 2; ++again) {
        if (room.rank() == root) data = numbers<std::uint8_t>(root + again, count);
        args.out = reinterpret_cast<std::byte*>(data.data());
        collectives::node::broadcast({room, waiter, args});
        if (data != numbers<std::uint8_t>(root + again, count))
            throw std::runtime_error(text("broadcast from ", root, " is wrong"));
    }
    return bytes_of(data);
}

Bytes allgather(Room& room, Waiter& waiter, std::vector<std::size_t> const& counts) {
    std::vector<std::size_t> offsets(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), std::size_t{0});
    std::vector<std::uint8_t> out(offsets.back() + counts.back());
    auto const self = static_cast<std::size_t>(room.rank());
    auto const own = numbers<std::uint8_t>(room.rank(), counts[self]);
    std::copy(own.begin(), own.end(), out.begin() + static_cast<std::ptrdiff_t>(offsets[self]));
    Arguments args;
    args.out = reinterpret_cast<std::byte*>(out.data());
    args.count = counts[self];
    args.blocks = Blocks::listed(counts, offsets, 1);
    collectives::node::allgather({room, waiter, args});
    return bytes_of(out);
}

struct Layout {
    char const* name;
    std::vector<int> domain_of;
};
std::ostream& operator<<(std::ostream& out, Layout const& layout) { return out << layout.name; }

class ByDomain : public ::testing::TestWithParam<Layout> {
protected:
    int ranks() const { return static_cast<int>(GetParam().domain_of.size()); }

    void expect_same(std::size_t ring, Body const& body, std::string const& what) const {
        Domains const one(ranks()), several(GetParam().domain_of, true);
        auto const wanted = run(ranks(), ring, one, body);
        auto const got = run(ranks(), ring, several, body);
        for (int rank = 0; rank < ranks(); ++rank)
            EXPECT_EQ(got[static_cast<std::size_t>(rank)] == wanted[static_cast<std::size_t>(rank)],
                      true)
                << what << " has other bits on rank " << rank;
    }

    template <class T>
    void expect_same_reductions(char const* type, ReduceOp const& op,
                                std::function<std::vector<T>(int, std::size_t)> const& values) {
        collectives::Reducer const reduce(op, data_type_of<T>());
        for (std::size_t const ring : rings())
            for (std::size_t const count : counts())
                for (bool const in_place : {false, true}) {
                    expect_same(
                        ring,
                        [&](Room& room, Waiter& waiter) {
                            return reduced<T>(room, waiter,
                                              {collectives::node::allreduce, 0, in_place},
                                              values(room.rank(), count), reduce);
                        },
                        text("allreduce of ", count, ' ', type));
                    int const root = static_cast<int>(count) % ranks();
                    expect_same(
                        ring,
                        [&](Room& room, Waiter& waiter) {
                            return reduced<T>(room, waiter,
                                              {collectives::node::reduce, root, in_place},
                                              values(room.rank(), count), reduce);
                        },
                        text("reduce to ", root, " of ", count, ' ', type));
                }
    }

    /// Many ranks take turns on few processors, so they make fewer calls.
    bool many() const { return ranks() > 6; }
    std::vector<std::size_t> rings() const {
        std::size_t const small = std::size_t{96} << 10, large = std::size_t{2} << 20;
        return many() ? std::vector{small} : std::vector{small, large};
    }
    std::vector<std::size_t> counts() const {
        return many() ? std::vector<std::size_t>{40009} : std::vector<std::size_t>{0, 5000, 40009};
    }
    /// All ranks or, of many, the first of each domain.
    std::vector<int> roots() const {
        Domains const domains(GetParam().domain_of);
        std::vector<int> roots;
        for (int rank = 0; rank < ranks(); ++rank)
            if (!many() || domains.index(rank) == 0) roots.push_back(rank);
        return roots;
    }
};
INSTANTIATE_TEST_SUITE_P(
    Layouts, ByDomain,
    ::testing::Values(Layout{"2+2", {0, 0, 1, 1}}, Layout{"1+1", {0, 1}}, Layout{"1+2", {0, 1, 1}},
                      Layout{"3+1+2", {0, 0, 0, 1, 2, 2}}, Layout{"apart", {0, 1, 0, 1}},
                      Layout{"4 of 2", {0, 0, 1, 1, 2, 2, 3, 3}},
                      Layout{"7+9", {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1}}));

TEST_P(ByDomain, ReducesToTheSameBits) {
    expect_same_reductions<float>("f32 sums", sum, numbers<float>);
    expect_same_reductions<double>("f64 products", prod, numbers<double>);
}
TEST_P(ByDomain, ReducesOtherTypesToTheSameBits) {
    expect_same_reductions<std::uint8_t>("u8 sums", sum, numbers<std::uint8_t>);
    expect_same_reductions<bfloat16>("bf16 sums", sum, numbers<bfloat16>);
    expect_same_reductions<bfloat16>("bf16 maxima", max, numbers<bfloat16>);
}
TEST_P(ByDomain, ReducesByOperationsOfTheProgramInRankOrder) {
    expect_same_reductions<Odd>("odd elements", odd_op(), [](int rank, std::size_t count) {
        std::vector<Odd> all(count);
        auto const bytes = numbers<std::uint8_t>(rank, count * sizeof(Odd));
        if (count > 0) std::memcpy(all.data(), bytes.data(), bytes.size());
        return all;
    });
}

TEST_P(ByDomain, ReducesPartsToTheSameBits) {
    for (std::size_t const ring : rings())
        for (std::size_t const count : {std::size_t{6000}, std::size_t{100003}})
            for (bool const equal : {true, false})
                expect_same(
                    ring,
                    [&](Room& room, Waiter& waiter) {
                        return reduce_scatter(room, waiter, count, equal);
                    },
                    text("reduce_scatter of ", count, equal ? " in equal parts" : ""));
}

TEST_P(ByDomain, BroadcastsFromEveryRank) {
    for (std::size_t const ring : rings())
        for (std::size_t const count : {std::size_t{0}, std::size_t{9000}, std::size_t{300001}})
            for (int const root : roots())
                expect_same(
                    ring,
                    [&](Room& room, Waiter& waiter) {
                        return broadcast(room, waiter, root, count);
                    },
                    text("broadcast of ", count, " from ", root));
}

TEST_P(ByDomain, GathersBlocksOfAllSizes) {
    auto const all = static_cast<std::size_t>(ranks());
    std::vector<std::size_t> const equal(all, 50001);
    std::vector<std::size_t> rising(all), rare(all);
    for (std::size_t r = 0; r < all; ++r) rising[r] = r * 9001;
    rare.back() = 200000;
    for (std::size_t const ring : rings())
        for (auto const& counts : {equal, rising, rare})
            expect_same(
                ring, [&](Room& room, Waiter& waiter) { return allgather(room, waiter, counts); },
                text("allgather of ", counts.back(), " in the last block"));
}

// What a pipeline of more steps costs is not paid for by a short message.
TEST(ByDomainOnly, LongMessagesDistinguishDomains) {
    std::vector<int> const of{0, 0, 1, 1};
    auto const memory = room_memory(4, sinew::testing::room_ring);
    Room room(memory, 0, 4, sinew::testing::room_ring, nullptr);
    using collectives::node::domains_for_moves;
    std::size_t const mib = std::size_t{1} << 20;
    EXPECT_EQ(domains_for_moves(room, mib).count(), 1);
    room.use_domains(Domains(of));
    EXPECT_EQ(domains_for_moves(room, mib).count(), 2);
    EXPECT_EQ(domains_for_moves(room, 10000).count(), 1);
    room.use_domains(Domains(of, true));
    EXPECT_EQ(domains_for_moves(room, 10000).count(), 2);
}

}  // namespace
}  // namespace sinew::node_memory
