// SPDX-License-Identifier: Apache-2.0
#include "src/comm/collective/invocation.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <optional>

namespace sinew::detail {
namespace {

using C = Collective;
using Kind = DataType::Kind;

std::array<float, 64> memory{};

Invocation call(C collective, std::size_t in, std::size_t out, bool in_place = false) {
    return {.collective = collective,
            .in = {memory.data(), in, Kind::f32},
            .out = {memory.data(), out, Kind::f32},
            .in_place = in_place};
}

TEST(Invocation, TellsItselfInWords) {
    EXPECT_EQ(call(C::allreduce, 5, 5).text(), "allreduce(f32 x 5, sum)");
    EXPECT_EQ(call(C::broadcast, 5, 5, true).text(), "broadcast(f32 x 5, root 0)");
    EXPECT_EQ(call(C::reduce, 5, 0).text(), "reduce(f32 x 5, sum, root 0)");
    EXPECT_EQ(Invocation{}.text(), "barrier()");
}

TEST(OwnedInvocation, KeepsItsArraysWhenTheCallersAreGone) {
    std::optional<OwnedInvocation> owned;
    {
        std::vector<std::size_t> counts{1, 2, 3}, offsets{4, 5, 6};
        std::string algorithm = "an algorithm with a long name";
        Invocation original = call(C::alltoallv, 9, 9);
        original.parts = Parts(counts, offsets);
        original.sent = Parts(offsets, counts);
        original.options.algorithm = algorithm;
        owned.emplace(original);
        counts.assign(3, 99);
        offsets.assign(3, 99);
        algorithm.assign(20, 'x');
    }
    EXPECT_THAT(owned->call.parts.counts, testing::ElementsAre(1, 2, 3));
    EXPECT_THAT(owned->call.parts.offsets, testing::ElementsAre(4, 5, 6));
    EXPECT_THAT(owned->call.sent.counts, testing::ElementsAre(4, 5, 6));
    EXPECT_THAT(owned->call.sent.offsets, testing::ElementsAre(1, 2, 3));
    EXPECT_EQ(owned->call.options.algorithm, "an algorithm with a long name");
}

/// Compares the fingerprints of rank 0 (the root) and of another of 4 ranks.
void expect_equal_prints(Invocation const& at_root, Invocation const& elsewhere) {
    auto const root = Fingerprint::of(at_root, 7, 0, 4),
               other = Fingerprint::of(elsewhere, 7, 2, 4);
    EXPECT_EQ(root, other) << root.text() << " and " << other.text();
}

TEST(Fingerprint, CountsWhatAllRanksShare) {
    for (bool const root_in_place : {false, true})
        for (bool const other_in_place : {false, true}) {
            auto const pair = [&](C collective, std::size_t part, std::size_t whole) {
                auto const gather = [&](bool in_place) {
                    return in_place ? call(collective, whole, whole, true)
                                    : call(collective, part, whole);
                };
                expect_equal_prints(gather(root_in_place), gather(other_in_place));
            };
            pair(C::allgather, 3, 12);
            pair(C::allreduce, 12, 12);
        }
    // Rooted and in place: the root has the whole buffer, the others have their part.
    expect_equal_prints(call(C::gather, 12, 12, true), call(C::gather, 3, 3, true));
    expect_equal_prints(call(C::gather, 3, 12), call(C::gather, 3, 0));
    expect_equal_prints(call(C::scatter, 12, 12, true), call(C::scatter, 3, 3, true));
    expect_equal_prints(call(C::scatter, 12, 3), call(C::scatter, 0, 3));
    expect_equal_prints(call(C::gatherv, 3, 12), call(C::gatherv, 5, 0));
}

TEST(Fingerprint, DiffersWhereACallDoes) {
    Invocation const usual = call(C::allreduce, 5, 5);
    auto const print = [](Invocation const& of, std::uint64_t sequence = 1) {
        return Fingerprint::of(of, sequence, 1, 4);
    };
    EXPECT_EQ(print(usual), print(usual));
    EXPECT_NE(print(usual), print(usual, 2));
    EXPECT_NE(print(usual), print(call(C::scan, 5, 5)));
    EXPECT_NE(print(usual), print(call(C::allreduce, 6, 6)));
    for (auto const change : std::initializer_list<void (*)(Invocation&)>{
             [](Invocation& c) { c.op = max; }, [](Invocation& c) { c.options.algorithm = "ring"; },
             [](Invocation& c) { c.in.type = c.out.type = Kind::f64; },
             [](Invocation& c) { c.in.type = c.out.type = DataType::opaque(4); }}) {
        Invocation other = usual;
        change(other);
        EXPECT_NE(print(usual), print(other));
    }
    Invocation root = call(C::broadcast, 5, 5, true), other_root = root;
    other_root.root = 3;
    EXPECT_NE(print(root), print(other_root));
}

TEST(Fingerprint, OfAUserDefinedOperationHasItsName) {
    auto const first = [](float a, float) { return a; };
    auto const print = [&](std::string const& name) {
        Invocation with = call(C::allreduce, 5, 5);
        with.op = reduce_op<float>(first, Commutative::no, name);
        return Fingerprint::of(with, 1, 0, 4);
    };
    EXPECT_EQ(print("first"), print("first"));
    EXPECT_NE(print("first"), print("last"));
    EXPECT_EQ(print("first").text(), "allreduce(f32 x 5, first)");
    std::string const lengthy = "an operation with a long name";
    EXPECT_NE(print(lengthy + " a"), print(lengthy + " b"));
    EXPECT_EQ(print(lengthy).text(), "allreduce(f32 x 5, an operation with a lon)");
    EXPECT_EQ(print("").text(), "allreduce(f32 x 5, user-defined)");
}

TEST(Fingerprint, TravelsAsPlainBytes) {
    auto const print = Fingerprint::of(call(C::reduce, 5, 5), 3, 0, 4);
    Fingerprint copy;
    std::memcpy(static_cast<void*>(&copy), &print, sizeof(copy));
    EXPECT_EQ(copy, print);
    EXPECT_EQ(copy.text(), "reduce(f32 x 5, sum, root 0)");
}

}  // namespace
}  // namespace sinew::detail
