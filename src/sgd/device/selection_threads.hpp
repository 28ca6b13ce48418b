// SPDX-License-Identifier: Apache-2.0
// What one lane of a warp, or one thread of a block, does to select the k elements of the largest magnitude.
//
// The k-th largest magnitude is found bit by bit from the top, 11, 11 and 9 of its 31 bits: a histogram of
// these bits among the elements that have the bits found so far, then the choice of the bin in which the
// k-th lies. Integers are counted, so the result does not depend on the order of the threads.
//
// All values are read three times: for the first histogram; to gather the candidates, which are the
// elements in the bin of the first choice; and to write the selected ones. The other histograms read the
// candidates alone. A chunk that has more of them than it has room for is read as a whole again. When the
// threshold is known, each chunk's elements above and at it are counted, the counts are summed up, and
// each chunk writes its elements to its place: all above the threshold, and the first ones at it.
#pragma once

#include "src/sgd/device/quantize.hpp"

namespace sinew::sgd {

inline constexpr std::uint32_t selection_bins = 2048;
inline constexpr std::uint32_t selection_passes = 3;
/// Elements of a chunk, which a warp has at a time, and of a round, which it reads at once.
inline constexpr std::uint32_t selection_chunk = 2048;
inline constexpr std::uint32_t selection_round = 512;
inline constexpr std::uint32_t selection_rounds = selection_chunk / selection_round;
/// Candidates that a chunk has room for.
inline constexpr std::uint32_t selection_room = selection_chunk / 16;

/// Elements of a chunk: before the counts of the chunks are summed up its own, then of all before it.
struct alignas(8) ChunkCounts {
    std::uint32_t above;  ///< with a larger magnitude than those that have the bits found so far
    std::uint32_t at;     ///< with these bits; at the end they have the threshold's magnitude
};

/// The memory of a selection on the GPU, before the counts of the chunks.
struct SelectionState {
    std::uint32_t histogram[selection_bins];
    std::uint32_t threshold;  ///< the bits found so far, zeros below
    std::uint32_t wanted;     ///< how many elements to take from those with these bits
};

/// Takes the k elements of the largest magnitude out of `values`: writes their indices, in ascending
/// order, and values, and leaves zeros. Of equal magnitudes the first count as larger; so does NaN of all.
struct Selection {
    float* values = nullptr;  ///< aligned for 16 bytes
    std::uint64_t count = 0;
    std::uint32_t k = 0;
    std::uint32_t pass = 0;  ///< of the histogram: 0, 1, 2
    std::uint32_t* indices = nullptr;
    float* selected = nullptr;
    SelectionState* state = nullptr;
    ChunkCounts* chunks = nullptr;
    std::uint32_t* candidates = nullptr;  ///< selection_room keys of each chunk
};

SINEW_HOST_DEVICE inline std::uint64_t selection_chunks(std::uint64_t count) {
    return (count + selection_chunk - 1) / selection_chunk;
}

/// The lowest bit of a pass, and how many it has.
SINEW_HOST_DEVICE constexpr std::uint32_t pass_shift(std::uint32_t pass) {
    return pass == 0 ? 20 : pass == 1 ? 9 : 0;
}
SINEW_HOST_DEVICE constexpr std::uint32_t pass_bits(std::uint32_t pass) {
    return pass == 2 ? 9 : 11;
}

/// A magnitude as an integer; that of all NaN is the same.
SINEW_HOST_DEVICE inline std::uint32_t selection_key(float value) {
    std::uint32_t const bits = magnitude_bits(value);
    return bits < 0x7f800001u ? bits : 0x7f800001u;
}

/// A lane's elements of a round: four of each quarter. Those past the end are zeros, which no histogram
/// counts.
struct SelectionRound {
    struct alignas(16) Four {
        float values[4];
    };
    static constexpr std::uint32_t quarters = selection_round / (4 * warp_lanes);

    Four fours[quarters] = {};
    std::uint32_t there = (1u << (4 * quarters)) - 1;  ///< a bit for each that is not past the end

    SINEW_HOST_DEVICE SelectionRound(Selection const& call, std::uint64_t chunk,
                                     std::uint32_t round, std::uint32_t lane) {
        std::uint32_t const first = index(chunk, round, lane, 0);
        if ((chunk + 1) * selection_chunk <= call.count) {
            SINEW_UNROLL
            for (std::uint32_t q = 0; q < quarters; ++q)
                fours[q] = load<Four>(call.values + first + 4 * warp_lanes * q);
            return;
        }
        there = 0;
        for_each([&](std::uint32_t element, float& value) {
            std::uint32_t const at = index(chunk, round, lane, element);
            if (at >= call.count) return;
            value = call.values[at];
            there |= 1u << element;
        });
    }

    /// The index among all values of a lane's element. Requires: the chunk exists.
    SINEW_HOST_DEVICE static std::uint32_t index(std::uint64_t chunk, std::uint32_t round,
                                                 std::uint32_t lane, std::uint32_t element) {
        return static_cast<std::uint32_t>(chunk) * selection_chunk + round * selection_round +
               element / 4 * 4 * warp_lanes + 4 * lane + element % 4;
    }
    /// Calls use(element, value) for each element in the order of the indices.
    template <class Use>
    SINEW_HOST_DEVICE void for_each(Use&& use) {
        SINEW_UNROLL
        for (std::uint32_t q = 0; q < quarters; ++q) {
            SINEW_UNROLL
            for (std::uint32_t i = 0; i < 4; ++i) use(4 * q + i, fours[q].values[i]);
        }
    }
};

/// Which of a lane's elements of a round are above the bits found so far, and which have them: a bit for each.
struct SelectionMasks {
    std::uint32_t above = 0;
    std::uint32_t at = 0;

    /// `low` and `high` are the least and the largest key that has the bits.
    SINEW_HOST_DEVICE SelectionMasks(SelectionRound round, std::uint32_t low, std::uint32_t high) {
        round.for_each([&](std::uint32_t element, float value) {
            std::uint32_t const key = selection_key(value);
            if (key > high) above |= 1u << element;
            else if (key >= low) at |= 1u << element;
        });
        at &= round.there;
    }
};

SINEW_HOST_DEVICE inline ChunkCounts sum_of(ChunkCounts a, ChunkCounts b) {
    return {a.above + b.above, a.at + b.at};
}

SINEW_HOST_DEVICE inline void selection_begin_thread(Selection const& call, std::uint32_t thread) {
    for (std::uint32_t bin = thread; bin < selection_bins; bin += block_threads)
        call.state->histogram[bin] = 0;
    if (thread != 0) return;
    call.state->threshold = 0;
    call.state->wanted = call.k;
}

/// Calls use(key) for a lane's elements of a chunk: all of them that have the bits found so far, and others.
template <class Use>
SINEW_HOST_DEVICE void selection_for_each(Selection const& call, std::uint64_t chunk,
                                          std::uint32_t lane, bool gathered, Use&& use) {
    std::uint32_t const number = gathered ? call.chunks[chunk].at : selection_room + 1;
    if (number <= selection_room) {
        std::uint32_t const* const keys = call.candidates + chunk * selection_room;
        for (std::uint32_t i = lane; i < number; i += warp_lanes) use(keys[i]);
        return;
    }
    for (std::uint32_t round = 0; round < selection_rounds; ++round)
        SelectionRound(call, chunk, round, lane).for_each([&](std::uint32_t, float value) {
            use(selection_key(value));
        });
}

/// Counts a lane's elements of a chunk by add(bin), but those of bin 0, which is chosen if no other is.
template <class Add>
SINEW_HOST_DEVICE void selection_histogram_lane(Selection const& call, std::uint64_t chunk,
                                                std::uint32_t lane, Add&& add) {
    std::uint32_t const shift = pass_shift(call.pass), bits = pass_bits(call.pass);
    std::uint32_t const known = call.state->threshold >> (shift + bits);
    selection_for_each(call, chunk, lane, call.pass != 0, [&](std::uint32_t key) {
        std::uint32_t const bin = (key >> shift) & ((1u << bits) - 1);
        if (bin != 0 && key >> (shift + bits) == known) add(bin);
    });
}

/// The bins that a thread of the choosing block has.
struct SelectionBins {
    static constexpr std::uint32_t each = selection_bins / block_threads;

    std::uint32_t counts[each];

    SINEW_HOST_DEVICE SelectionBins(Selection const& call, std::uint32_t thread) {
        SINEW_UNROLL
        for (std::uint32_t i = 0; i < each; ++i)
            counts[i] = call.state->histogram[thread * each + i];
    }
    SINEW_HOST_DEVICE std::uint32_t sum() const {
        std::uint32_t sum = 0;
        SINEW_UNROLL
        for (std::uint32_t i = 0; i < each; ++i) sum += counts[i];
        return sum;
    }
    /// Clears the bins for the next pass; and if the k-th element lies in one of them, chooses it.
    /// `wanted` is the state's, `sums` are of the bins of all threads.
    SINEW_HOST_DEVICE void choose(Selection const& call, std::uint32_t thread, std::uint32_t wanted,
                                  std::uint32_t const* sums) const {
        SINEW_UNROLL
        for (std::uint32_t i = 0; i < each; ++i) call.state->histogram[thread * each + i] = 0;
        std::uint32_t above = 0;
        for (std::uint32_t other = thread + 1; other < block_threads; ++other) above += sums[other];
        if (above >= wanted || (thread != 0 && above + sums[thread] < wanted)) return;
        std::uint32_t left = wanted - above;
        std::uint32_t bin = 0;
        bool found = false;
        SINEW_UNROLL
        for (std::uint32_t i = each; i-- > 1;) {
            if (found) continue;
            if (counts[i] >= left) {
                found = true;
                bin = i;
            } else {
                left -= counts[i];
            }
        }
        call.state->threshold |= (thread * each + bin) << pass_shift(call.pass);
        call.state->wanted = left;
    }
};

/// After the first pass: a lane's elements of a round above the bits found, and those that have them, which
/// are the candidates.
SINEW_HOST_DEVICE inline SelectionMasks selection_gather_masks(Selection const& call,
                                                               std::uint64_t chunk,
                                                               std::uint32_t round,
                                                               std::uint32_t lane,
                                                               std::uint32_t threshold) {
    return {SelectionRound(call, chunk, round, lane), threshold,
            threshold | ((1u << pass_shift(0)) - 1)};
}

/// Writes a lane's candidates of a round from `place` on in the room of their chunk.
SINEW_HOST_DEVICE inline void selection_gather_lane(Selection const& call, std::uint64_t chunk,
                                                    std::uint32_t round, std::uint32_t lane,
                                                    std::uint32_t candidates, std::uint32_t place) {
    std::uint32_t* const keys = call.candidates + chunk * selection_room;
    for (; candidates != 0 && place < selection_room; candidates &= candidates - 1) {
        auto const element = lowest_bit(candidates);
        keys[place++] =
            selection_key(call.values[SelectionRound::index(chunk, round, lane, element)]);
    }
}

/// Of a lane's elements of a chunk: how many are above and at the threshold. The elements above the first
/// pass's bits are among them only if there was no room for the chunk's candidates.
SINEW_HOST_DEVICE inline ChunkCounts selection_count_lane(Selection const& call,
                                                          std::uint64_t chunk, std::uint32_t lane) {
    std::uint32_t const threshold = call.state->threshold;
    ChunkCounts found{0, 0};
    selection_for_each(call, chunk, lane, true, [&](std::uint32_t key) {
        found.above += key > threshold ? 1 : 0;
        found.at += key == threshold ? 1 : 0;
    });
    return found;
}

/// Replaces the counts of a chunk by those at the threshold; `found` is of all lanes. For one lane.
SINEW_HOST_DEVICE inline void selection_count_chunk(Selection const& call, std::uint64_t chunk,
                                                    ChunkCounts found) {
    ChunkCounts const gathered = call.chunks[chunk];
    if (gathered.at <= selection_room) found.above += gathered.above;
    call.chunks[chunk] = found;
}

/// The chunks that a thread of the summing block has at a time.
struct SelectionTile {
    static constexpr std::uint32_t each = 8;
    static constexpr std::uint32_t chunks = each * block_threads;

    ChunkCounts counts[each] = {};
    std::uint64_t first;

    SINEW_HOST_DEVICE SelectionTile(Selection const& call, std::uint64_t tile, std::uint32_t thread)
        : first(tile * chunks + thread * each) {
        SINEW_UNROLL
        for (std::uint32_t i = 0; i < each; ++i)
            if (first + i < selection_chunks(call.count)) counts[i] = call.chunks[first + i];
    }
    SINEW_HOST_DEVICE static std::uint64_t tiles(Selection const& call) {
        return (selection_chunks(call.count) + chunks - 1) / chunks;
    }
    SINEW_HOST_DEVICE ChunkCounts sum() const {
        ChunkCounts sum{0, 0};
        SINEW_UNROLL
        for (std::uint32_t i = 0; i < each; ++i) sum = sum_of(sum, counts[i]);
        return sum;
    }
    /// Replaces the counts by those of all chunks before; `before` is of those before the first one.
    SINEW_HOST_DEVICE void store_offsets(Selection const& call, ChunkCounts before) const {
        SINEW_UNROLL
        for (std::uint32_t i = 0; i < each; ++i) {
            if (first + i < selection_chunks(call.count)) call.chunks[first + i] = before;
            before = sum_of(before, counts[i]);
        }
    }
};

/// Numbers of elements above and at the threshold, a byte for each quarter of a round: those of a lane, and
/// sums over a warp.
struct QuarterCounts {
    std::uint32_t above;
    std::uint32_t at;

    SINEW_HOST_DEVICE ChunkCounts of(std::uint32_t quarter) const {
        return {(above >> (8 * quarter)) & 0xffu, (at >> (8 * quarter)) & 0xffu};
    }
};
static_assert(SelectionRound::quarters == 4 && 4 * warp_lanes < 256);

SINEW_HOST_DEVICE inline QuarterCounts quarter_counts(SelectionMasks masks) {
    QuarterCounts counts{0, 0};
    SINEW_UNROLL
    for (std::uint32_t q = 0; q < SelectionRound::quarters; ++q) {
        std::uint32_t const quarter = 0xfu << (4 * q);
        counts.above |= static_cast<std::uint32_t>(std::popcount(masks.above & quarter)) << (8 * q);
        counts.at |= static_cast<std::uint32_t>(std::popcount(masks.at & quarter)) << (8 * q);
    }
    return counts;
}

/// A lane's elements of a round above and at the threshold.
SINEW_HOST_DEVICE inline SelectionMasks selection_compact_masks(Selection const& call,
                                                                std::uint64_t chunk,
                                                                std::uint32_t round,
                                                                std::uint32_t lane,
                                                                std::uint32_t threshold) {
    return {SelectionRound(call, chunk, round, lane), threshold, threshold};
}

/// Writes a lane's selected elements of a round. `before` is of all elements before the round, `lanes` of
/// the lanes before this one, `all` of the warp.
SINEW_HOST_DEVICE inline void selection_compact_lane(Selection const& call, std::uint64_t chunk,
                                                     std::uint32_t round, std::uint32_t lane,
                                                     std::uint32_t wanted, SelectionMasks masks,
                                                     ChunkCounts before, QuarterCounts lanes,
                                                     QuarterCounts all) {
    std::uint32_t left = masks.above | masks.at;
    for (std::uint32_t q = 0; q < SelectionRound::quarters; ++q) {
        ChunkCounts place = sum_of(before, lanes.of(q));
        before = sum_of(before, all.of(q));
        for (std::uint32_t const end = 4 * q + 4; (left & ((1u << end) - 1)) != 0;
             left &= left - 1) {
            auto const element = lowest_bit(left);
            bool const is_above = (masks.above >> element & 1) != 0;
            if (is_above || place.at < wanted) {
                std::uint32_t const to = place.above + (place.at < wanted ? place.at : wanted);
                std::uint32_t const index = SelectionRound::index(chunk, round, lane, element);
                call.indices[to] = index;
                call.selected[to] = call.values[index];
                call.values[index] = 0.0f;
            }
            place.above += is_above ? 1 : 0;
            place.at += is_above ? 0 : 1;
        }
    }
}

/// The counts before the next round.
SINEW_HOST_DEVICE inline ChunkCounts counts_after(ChunkCounts before, QuarterCounts all) {
    SINEW_UNROLL
    for (std::uint32_t q = 0; q < SelectionRound::quarters; ++q) before = sum_of(before, all.of(q));
    return before;
}

}  // namespace sinew::sgd
