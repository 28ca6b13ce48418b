// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/device/twins.hpp"

#include <algorithm>
#include <array>

namespace sinew::sgd {

namespace {

template <class Call>
using LaneFunction = void (*)(Call const&, LanePosition);

/// Kernels whose lanes do not need each other.
template <class Call>
void run_lanes(LaneFunction<Call> lane_function, void const* arguments, unsigned blocks) {
    auto const& call = *static_cast<Call const*>(arguments);
    std::uint32_t const warps = blocks * block_warps;
    for (std::uint32_t warp = 0; warp < warps; ++warp)
        for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
            lane_function(call, {warp, warps, lane});
}

/// Kernels whose warps find the largest magnitude of their lanes.
template <class Lane, class Call>
void run_block_lanes(void const* arguments, unsigned blocks) {
    auto const& call = *static_cast<Call const*>(arguments);
    std::uint32_t const warps = blocks * block_warps;
    for (std::uint32_t warp = 0; warp < warps; ++warp)
        for (std::uint64_t item = warp; item < Lane::items(call); item += warps) {
            std::array<Lane, warp_lanes> lanes;
            std::uint32_t largest = 0;
            for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
                lanes[lane].load_item(call, item, lane);
                largest = std::max(largest, lanes[lane].own.largest());
            }
            for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
                lanes[lane].store_item(call, item, lane, largest);
        }
}

Selection const& selection_of(void const* arguments) {
    return *static_cast<Selection const*>(arguments);
}

void run_selection_histogram(Selection const& call, unsigned blocks) {
    for (unsigned block = 0; block < blocks; ++block) {
        std::array<std::uint32_t, selection_bins> histogram{};
        for (std::uint64_t chunk = block; chunk < selection_chunks(call.count); chunk += blocks)
            for (std::uint32_t thread = 0; thread < block_threads; ++thread)
                selection_histogram_thread(
                    call, chunk, thread,
                    [&](std::uint32_t bin, std::uint32_t n) { histogram[bin] += n; });
        for (std::uint32_t bin = 0; bin < selection_bins; ++bin)
            call.state->histogram[bin] += histogram[bin];
    }
}

void run_selection_choose(Selection const& call) {
    std::array<std::uint32_t, block_threads> sums;
    for (std::uint32_t thread = 0; thread < block_threads; ++thread)
        sums[thread] = selection_bins_of_thread(call, thread);
    selection_choose(call, sums.data());
    for (std::uint32_t thread = 0; thread < block_threads; ++thread)
        selection_clear_thread(call, thread);
}

void add_counts(ChunkCounts& sum, ChunkCounts more) {
    sum.above += more.above;
    sum.at += more.at;
}

void run_selection_count(Selection const& call, unsigned blocks) {
    for (unsigned block = 0; block < blocks; ++block)
        for (std::uint64_t chunk = block; chunk < selection_chunks(call.count); chunk += blocks) {
            ChunkCounts all{0, 0};
            for (std::uint32_t thread = 0; thread < block_threads; ++thread)
                add_counts(all, SelectionRun(call, chunk, thread).counts(call.state->threshold));
            call.chunks[chunk] = all;
        }
}

void run_selection_offsets(Selection const& call) {
    // All sums first: threads replace what the others sum up.
    std::array<ChunkCounts, block_threads> sums;
    for (std::uint32_t thread = 0; thread < block_threads; ++thread)
        sums[thread] = selection_sum_thread(call, thread);
    ChunkCounts before{0, 0};
    for (std::uint32_t thread = 0; thread < block_threads; ++thread) {
        selection_offsets_thread(call, thread, before);
        add_counts(before, sums[thread]);
    }
}

void run_selection_compact(Selection const& call, unsigned blocks) {
    for (unsigned block = 0; block < blocks; ++block)
        for (std::uint64_t chunk = block; chunk < selection_chunks(call.count); chunk += blocks) {
            ChunkCounts before{0, 0};
            for (std::uint32_t thread = 0; thread < block_threads; ++thread) {
                SelectionRun const run(call, chunk, thread);
                selection_compact_thread(call, chunk, thread, run, before);
                add_counts(before, run.counts(call.state->threshold));
            }
        }
}

}  // namespace

void run_on_host(Kernel kernel, void const* arguments, unsigned blocks) {
    switch (kernel) {
        case Kernel::flatten:
            return run_lanes<SegmentCopy>(copy_segments_lane<true>, arguments, blocks);
        case Kernel::unflatten:
            return run_lanes<SegmentCopy>(copy_segments_lane<false>, arguments, blocks);
        case Kernel::convert:
            return run_lanes<ScaledCast>(convert_lane, arguments, blocks);
        case Kernel::add:
            return run_lanes<TwoSum>(add_lane, arguments, blocks);
        case Kernel::sgd:
            return run_lanes<SgdStep>(sgd_lane, arguments, blocks);
        case Kernel::quantise:
            return run_block_lanes<QuantiseLane, Quantisation>(arguments, blocks);
        case Kernel::dequantise:
            return run_lanes<Dequantisation>(dequantise_lane, arguments, blocks);
        case Kernel::sum_rows:
            return run_block_lanes<RowSumLane, RowSum>(arguments, blocks);
        case Kernel::selection_begin:
            for (std::uint32_t thread = 0; thread < block_threads; ++thread)
                selection_begin_thread(selection_of(arguments), thread);
            return;
        case Kernel::selection_histogram:
            return run_selection_histogram(selection_of(arguments), blocks);
        case Kernel::selection_choose:
            return run_selection_choose(selection_of(arguments));
        case Kernel::selection_count:
            return run_selection_count(selection_of(arguments), blocks);
        case Kernel::selection_offsets:
            return run_selection_offsets(selection_of(arguments));
        case Kernel::selection_compact:
            return run_selection_compact(selection_of(arguments), blocks);
    }
}

}  // namespace sinew::sgd
