// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/comm/reduce_op.hpp>

#include "collectives/catalogue.hpp"
#include "src/base/text.hpp"
#include "tests/support/thread_ranks.hpp"

/// Shared by the tests of the algorithms: the list of algorithms (from the catalogue), the ranks'
/// contributions and the layout of blocks.
namespace sinew::collectives::testing {

using sinew::testing::run_ranks;

/// The shape of calls on the ranks of run_ranks.
inline Shape shape_of(int ranks, bool commutative = true) {
    return {.ranks = ranks, .commutative = commutative, .shared = true, .by_node = ranks > 2};
}

/// An algorithm and a number of ranks that it supports.
struct Entry {
    Algorithm const* algorithm;
    int ranks;
    std::string name() const {
        return text(sinew::name(algorithm->collective), "_", algorithm->name, "_", ranks);
    }
    friend void PrintTo(Entry const& entry, std::ostream* out) { *out << entry.name(); }
};

#if defined(SINEW_TEST_ASAN) || defined(SINEW_TEST_TSAN)
inline constexpr int rank_counts[] = {1, 2, 3, 5, 8};  // one, even, odd, and next to a power of two
#else
inline constexpr int rank_counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
#endif

inline std::vector<Entry> entries(std::initializer_list<Collective> collectives) {
    std::vector<Entry> found;
    for (Collective const collective : collectives)
        for (Algorithm const& algorithm : algorithms(collective))
            for (int const ranks : rank_counts)
                if (algorithm.applies(shape_of(ranks))) found.push_back({&algorithm, ranks});
    return found;
}

inline std::string name_of(::testing::TestParamInfo<Entry> const& info) {
    return info.param.name();
}

/// How transfers are segmented: many segments, segments too long for the transport to copy, or few.
struct Pace {
    std::size_t segment;
    int window;
};
inline constexpr Pace paces[] = {{1000, 3}, {6000, 2}, {32768, 16}};

/// Initial arguments of a call.
inline Arguments arguments(Scratch& scratch, Pace pace, std::size_t element) {
    Arguments call;
    call.scratch = &scratch;
    call.segment = pace.segment;
    call.window = pace.window;
    call.element = element;
    return call;
}

/// The layout of a buffer's blocks. `ragged` blocks differ in size, some are empty, and they are in
/// reverse order with gaps.
struct Layout {
    std::vector<std::size_t> counts, offsets;
    std::size_t extent = 0;

    static Layout equal(int ranks, std::size_t count) {
        Layout layout;
        for (int rank = 0; rank < ranks; ++rank) {
            layout.counts.push_back(count);
            layout.offsets.push_back(layout.extent);
            layout.extent += count;
        }
        return layout;
    }
    static Layout ragged(std::vector<std::size_t> counts) {
        Layout layout{std::move(counts), {}, 0};
        layout.offsets.resize(layout.counts.size());
        for (std::size_t rank = layout.counts.size(); rank-- > 0;) {
            layout.offsets[rank] = layout.extent;
            layout.extent += layout.counts[rank] + 1;
        }
        return layout;
    }
    static Layout ragged(int ranks, std::size_t count) {
        std::vector<std::size_t> counts;
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank)
            counts.push_back(rank % 3 == 1 ? 0 : count * (rank + 1) / 4);
        return ragged(std::move(counts));
    }

    std::size_t count(int rank) const { return counts[static_cast<std::size_t>(rank)]; }
    std::size_t offset(int rank) const { return offsets[static_cast<std::size_t>(rank)]; }
    Blocks blocks(std::size_t element) const { return Blocks::listed(counts, offsets, element); }
};

inline std::vector<std::size_t> counts_to_try(int ranks) {
    return {0, 1, static_cast<std::size_t>(ranks - 1), 1000, 4099};
}

/// Arbitrary bits, the same for the same rank and element.
inline std::uint32_t bits(int rank, std::size_t i) {
    std::uint64_t x = (static_cast<std::uint64_t>(rank) + 1) * 0x9E3779B97F4A7C15u + i;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return static_cast<std::uint32_t>(x >> 32);
}

/// Memory with a known pattern, so that every written byte is detected.
template <class T>
std::vector<T> untouched(std::size_t count) {
    std::vector<T> values(count);
    if (count > 0) std::memset(static_cast<void*>(values.data()), 0x5A, count * sizeof(T));
    return values;
}

/// The values with one guard element after them.
template <class T>
std::vector<T> fenced(std::vector<T> values) {
    values.push_back(untouched<T>(1)[0]);
    return values;
}

template <class T>
std::byte* bytes_of(std::vector<T>& values) {
    return reinterpret_cast<std::byte*>(values.data());
}

template <class T, class Same = std::equal_to<T>>
void expect_same(std::vector<T> const& got, std::vector<T> const& wanted, Same same = {}) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!same(got[i], wanted[i])) {
            ADD_FAILURE() << "element " << i << " of " << got.size() << " is wrong";
            return;
        }
}

}  // namespace sinew::collectives::testing
