// SPDX-License-Identifier: Apache-2.0
// What one thread of a block does to select the k elements of the largest magnitude.
//
// The k-th largest magnitude is found bit by bit from the top, 11, 11 and 9 of its 31 bits: a histogram of
// these bits among the elements that have the bits found so far, then the choice of the bin in which the
// k-th lies. Integers are counted, so the result does not depend on the order of the threads. Then each
// chunk counts its elements above and at that threshold, the counts are summed up, and each chunk writes
// its elements to its place: all above the threshold, and the first ones at it.
#pragma once

#include "src/sgd/device/quantize.hpp"

namespace sinew::sgd {

inline constexpr std::uint32_t selection_bins = 2048;
inline constexpr std::uint32_t selection_passes = 3;
/// Elements of one thread, and of a chunk, which a block has at a time.
inline constexpr std::uint32_t selection_run = 8;
inline constexpr std::uint32_t selection_chunk = block_threads * selection_run;

/// Elements of a chunk: before the selection's counts are summed up its own, then of all chunks before it.
struct ChunkCounts {
    std::uint32_t above;  ///< with a larger magnitude than the threshold
    std::uint32_t at;     ///< with that magnitude
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
    return bits > 0x7f800000u ? 0x7f800001u : bits;
}

/// A thread's elements of a chunk. Those past the end are zeros that are not there.
struct SelectionRun {
    struct alignas(16) Four {
        float values[4];
    };

    float values[selection_run] = {};
    std::uint32_t length = 0;

    SINEW_HOST_DEVICE SelectionRun(Selection const& call, std::uint64_t chunk,
                                   std::uint32_t thread) {
        std::uint64_t const first = chunk * selection_chunk + thread * selection_run;
        if (first >= call.count) return;
        std::uint64_t const left = call.count - first;
        length = left < selection_run ? static_cast<std::uint32_t>(left) : selection_run;
        if (length == selection_run) {
            SINEW_UNROLL
            for (unsigned half = 0; half < 2; ++half) {
                Four const four = load<Four>(call.values + first + 4 * half);
                SINEW_UNROLL
                for (unsigned i = 0; i < 4; ++i) values[4 * half + i] = four.values[i];
            }
        } else {
            for (std::uint32_t i = 0; i < length; ++i) values[i] = call.values[first + i];
        }
    }

    SINEW_HOST_DEVICE ChunkCounts counts(std::uint32_t threshold) const {
        ChunkCounts found{0, 0};
        SINEW_UNROLL
        for (std::uint32_t i = 0; i < selection_run; ++i) {
            std::uint32_t const key = selection_key(values[i]);
            found.above += i < length && key > threshold ? 1 : 0;
            found.at += i < length && key == threshold ? 1 : 0;
        }
        return found;
    }
};

SINEW_HOST_DEVICE inline void selection_begin_thread(Selection const& call, std::uint32_t thread) {
    for (std::uint32_t bin = thread; bin < selection_bins; bin += block_threads)
        call.state->histogram[bin] = 0;
    if (thread != 0) return;
    call.state->threshold = 0;
    call.state->wanted = call.k;
}

/// Counts a thread's elements of a chunk by add(bin, 1).
template <class Add>
SINEW_HOST_DEVICE void selection_histogram_thread(Selection const& call, std::uint64_t chunk,
                                                  std::uint32_t thread, Add&& add) {
    SelectionRun const run(call, chunk, thread);
    std::uint32_t const shift = pass_shift(call.pass), bits = pass_bits(call.pass);
    std::uint32_t const known = call.state->threshold >> (shift + bits);
    SINEW_UNROLL
    for (std::uint32_t i = 0; i < selection_run; ++i) {
        std::uint32_t const key = selection_key(run.values[i]);
        if (i < run.length && key >> (shift + bits) == known)
            add((key >> shift) & ((1u << bits) - 1), 1u);
    }
}

/// The sum of the bins that a thread of the choosing block has.
SINEW_HOST_DEVICE inline std::uint32_t selection_bins_of_thread(Selection const& call,
                                                                std::uint32_t thread) {
    constexpr std::uint32_t each = selection_bins / block_threads;
    std::uint32_t sum = 0;
    SINEW_UNROLL
    for (std::uint32_t i = 0; i < each; ++i) sum += call.state->histogram[thread * each + i];
    return sum;
}

/// Finds the bin of the k-th element, given the sums of all threads. For one thread.
SINEW_HOST_DEVICE inline void selection_choose(Selection const& call, std::uint32_t const* sums) {
    constexpr std::uint32_t each = selection_bins / block_threads;
    std::uint32_t wanted = call.state->wanted;
    std::uint32_t group = block_threads - 1;
    while (group > 0 && sums[group] < wanted) wanted -= sums[group--];
    std::uint32_t bin = group * each + each - 1;
    while (bin > group * each && call.state->histogram[bin] < wanted)
        wanted -= call.state->histogram[bin--];
    call.state->threshold |= bin << pass_shift(call.pass);
    call.state->wanted = wanted;
}

/// Clears the histogram for the next pass.
SINEW_HOST_DEVICE inline void selection_clear_thread(Selection const& call, std::uint32_t thread) {
    for (std::uint32_t bin = thread; bin < selection_bins; bin += block_threads)
        call.state->histogram[bin] = 0;
}

/// The chunks that a thread of the summing block has.
SINEW_HOST_DEVICE inline std::uint64_t first_chunk_of(Selection const& call, std::uint32_t thread) {
    std::uint64_t const chunks = selection_chunks(call.count);
    std::uint64_t const each = (chunks + block_threads - 1) / block_threads;
    return each * thread < chunks ? each * thread : chunks;
}

SINEW_HOST_DEVICE inline ChunkCounts selection_sum_thread(Selection const& call,
                                                          std::uint32_t thread) {
    ChunkCounts sum{0, 0};
    for (std::uint64_t c = first_chunk_of(call, thread); c < first_chunk_of(call, thread + 1);
         ++c) {
        sum.above += call.chunks[c].above;
        sum.at += call.chunks[c].at;
    }
    return sum;
}

/// Replaces the counts of a thread's chunks by those of all chunks before; `before` is of those of the
/// threads before.
SINEW_HOST_DEVICE inline void selection_offsets_thread(Selection const& call, std::uint32_t thread,
                                                       ChunkCounts before) {
    for (std::uint64_t c = first_chunk_of(call, thread); c < first_chunk_of(call, thread + 1);
         ++c) {
        ChunkCounts const own = call.chunks[c];
        call.chunks[c] = before;
        before.above += own.above;
        before.at += own.at;
    }
}

/// Writes a thread's selected elements of a chunk; `before` is of the threads before it in the chunk.
SINEW_HOST_DEVICE inline void selection_compact_thread(Selection const& call, std::uint64_t chunk,
                                                       std::uint32_t thread,
                                                       SelectionRun const& run,
                                                       ChunkCounts before) {
    std::uint32_t const threshold = call.state->threshold, wanted = call.state->wanted;
    std::uint64_t const first = chunk * selection_chunk + thread * selection_run;
    before.above += call.chunks[chunk].above;
    before.at += call.chunks[chunk].at;
    SINEW_UNROLL
    for (std::uint32_t i = 0; i < selection_run; ++i) {
        if (i >= run.length) continue;
        std::uint32_t const key = selection_key(run.values[i]);
        bool const is_above = key > threshold;
        bool const is_at = key == threshold;
        std::uint32_t const taken = before.at < wanted ? before.at : wanted;
        if (is_above || (is_at && before.at < wanted)) {
            std::uint32_t const place = before.above + taken;
            call.indices[place] = static_cast<std::uint32_t>(first + i);
            call.selected[place] = run.values[i];
            call.values[first + i] = 0.0f;
        }
        before.above += is_above ? 1 : 0;
        before.at += is_at ? 1 : 0;
    }
}

}  // namespace sinew::sgd
