// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/device/twins.hpp"

#include <algorithm>
#include <array>
#include <vector>

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

/// Kernels whose lanes find the largest magnitude of their block.
template <class Lane, class Call>
void run_block_lanes(void const* arguments, unsigned blocks) {
    auto const& call = *static_cast<Call const*>(arguments);
    std::uint32_t const warps = blocks * block_warps;
    for (std::uint32_t warp = 0; warp < warps; ++warp)
        for (std::uint64_t item = warp; item < Lane::items(call); item += warps) {
            std::array<Lane, warp_lanes> lanes;
            std::array<std::uint32_t, warp_lanes / Lane::block_lanes> largest{};
            for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
                lanes[lane].load(call, item, lane);
                auto& of_block = largest[lane / Lane::block_lanes];
                of_block = std::max(of_block, lanes[lane].largest());
            }
            for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
                lanes[lane].store(call, item, lane,
                                  BlockScale::of(call.format, largest[lane / Lane::block_lanes]));
        }
}

/// Lanes add up their parts in pairs, as the kernel's do.
void run_squares(SegmentSquares const& call, unsigned blocks) {
    std::uint32_t const warps = blocks * block_warps;
    for (std::uint32_t warp = 0; warp < warps; ++warp)
        for (std::uint64_t item = warp; item < call.segment_count; item += warps) {
            std::array<double, warp_lanes> parts;
            for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
                parts[lane] = squares_lane(call, item, lane);
            for (std::uint32_t step = warp_lanes / 2; step > 0; step /= 2)
                for (std::uint32_t lane = 0; lane < step; ++lane) parts[lane] += parts[lane + step];
            call.sums[item] = parts[0];
        }
}

Selection const& selection_of(void const* arguments) {
    return *static_cast<Selection const*>(arguments);
}

/// Calls use(chunk) for the chunks of a block's warps.
template <class Use>
void for_each_chunk(Selection const& call, unsigned block, unsigned blocks, Use&& use) {
    for (std::uint32_t warp = block * block_warps; warp < (block + 1) * block_warps; ++warp)
        for (std::uint64_t chunk = warp; chunk < selection_chunks(call.count);
             chunk += std::uint64_t{blocks} * block_warps)
            use(chunk);
}

void run_selection_histogram(Selection const& call, unsigned blocks) {
    for (unsigned block = 0; block < blocks; ++block) {
        std::array<std::uint32_t, selection_bins> histogram{};
        for_each_chunk(call, block, blocks, [&](std::uint64_t chunk) {
            for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
                selection_histogram_lane(call, chunk, lane,
                                         [&](std::uint32_t bin) { ++histogram[bin]; });
        });
        for (std::uint32_t bin = 0; bin < selection_bins; ++bin)
            call.state->histogram[bin] += histogram[bin];
    }
}

void run_selection_choose(Selection const& call) {
    // All sums first: threads clear what the others sum up.
    std::vector<SelectionBins> bins;
    std::array<std::uint32_t, block_threads> sums;
    std::uint32_t const wanted = call.state->wanted;
    for (std::uint32_t thread = 0; thread < block_threads; ++thread) {
        bins.emplace_back(call, thread);
        sums[thread] = bins[thread].sum();
    }
    for (std::uint32_t thread = 0; thread < block_threads; ++thread)
        bins[thread].choose(call, thread, wanted, sums.data());
}

void gather_chunk(Selection const& call, std::uint64_t chunk) {
    std::uint32_t const threshold = call.state->threshold;
    ChunkCounts found{0, 0};
    for (std::uint32_t round = 0; round < selection_rounds; ++round)
        for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
            auto const own = selection_gather_masks(call, chunk, round, lane, threshold);
            selection_gather_lane(call, chunk, round, lane, own.at, found.at);
            found = sum_of(found, {static_cast<std::uint32_t>(std::popcount(own.above)),
                                   static_cast<std::uint32_t>(std::popcount(own.at))});
        }
    call.chunks[chunk] = found;
}

void count_chunk(Selection const& call, std::uint64_t chunk) {
    ChunkCounts found{0, 0};
    for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
        found = sum_of(found, selection_count_lane(call, chunk, lane));
    selection_count_chunk(call, chunk, found);
}

void run_selection_offsets(Selection const& call) {
    ChunkCounts before{0, 0};
    for (std::uint64_t t = 0; t < SelectionTile::tiles(call); ++t)
        for (std::uint32_t thread = 0; thread < block_threads; ++thread) {
            SelectionTile const tile(call, t, thread);
            tile.store_offsets(call, before);
            before = sum_of(before, tile.sum());
        }
}

void compact_chunk(Selection const& call, std::uint64_t chunk) {
    std::uint32_t const threshold = call.state->threshold, wanted = call.state->wanted;
    ChunkCounts before = call.chunks[chunk];
    for (std::uint32_t round = 0; round < selection_rounds; ++round) {
        // All masks first, as a warp has them: lanes write zeros.
        std::vector<SelectionMasks> lanes;
        std::array<QuarterCounts, warp_lanes> before_lane;
        QuarterCounts all{0, 0};
        for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
            lanes.push_back(selection_compact_masks(call, chunk, round, lane, threshold));
            before_lane[lane] = all;
            QuarterCounts const own = quarter_counts(lanes[lane]);
            all.above += own.above;
            all.at += own.at;
        }
        for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
            selection_compact_lane(call, chunk, round, lane, wanted, lanes[lane], before,
                                   before_lane[lane], all);
        before = counts_after(before, all);
    }
}

void run_chunks(void (*run)(Selection const&, std::uint64_t), Selection const& call,
                unsigned blocks) {
    for (unsigned block = 0; block < blocks; ++block)
        for_each_chunk(call, block, blocks, [&](std::uint64_t chunk) { run(call, chunk); });
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
        case Kernel::squares:
            return run_squares(*static_cast<SegmentSquares const*>(arguments), blocks);
        case Kernel::selection_begin:
            for (std::uint32_t thread = 0; thread < block_threads; ++thread)
                selection_begin_thread(selection_of(arguments), thread);
            return;
        case Kernel::selection_histogram:
            return run_selection_histogram(selection_of(arguments), blocks);
        case Kernel::selection_choose:
            return run_selection_choose(selection_of(arguments));
        case Kernel::selection_gather:
            return run_chunks(gather_chunk, selection_of(arguments), blocks);
        case Kernel::selection_count:
            return run_chunks(count_chunk, selection_of(arguments), blocks);
        case Kernel::selection_offsets:
            return run_selection_offsets(selection_of(arguments));
        case Kernel::selection_compact:
            return run_chunks(compact_chunk, selection_of(arguments), blocks);
    }
}

}  // namespace sinew::sgd
