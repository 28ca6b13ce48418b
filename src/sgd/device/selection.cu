// SPDX-License-Identifier: Apache-2.0
// Kernels that select the k elements of the largest magnitude; see selection_threads.hpp.
#include "src/sgd/device/selection_threads.hpp"

namespace sinew::sgd {

namespace {

constexpr unsigned all_lanes = 0xffffffffu;

/// The sum of the numbers of the lanes up to this one.
__device__ std::uint32_t sum_until(std::uint32_t own, std::uint32_t lane) {
    SINEW_UNROLL
    for (unsigned distance = 1; distance < warp_lanes; distance *= 2) {
        std::uint32_t const other = __shfl_up_sync(all_lanes, own, distance);
        if (lane >= distance) own += other;
    }
    return own;
}

__device__ std::uint32_t of_last_lane(std::uint32_t value) {
    return __shfl_sync(all_lanes, value, warp_lanes - 1);
}

/// The sum of the counts of the threads before this one, of one block; sets `all` to that of all. `sums`
/// must not be used again before another call with other sums.
__device__ ChunkCounts counts_before(ChunkCounts own, ChunkCounts* sums, ChunkCounts& all) {
    LanePosition const at = this_lane();
    ChunkCounts const until{sum_until(own.above, at.lane), sum_until(own.at, at.lane)};
    if (at.lane == warp_lanes - 1) sums[at.warp] = until;
    __syncthreads();
    ChunkCounts before{until.above - own.above, until.at - own.at};
    all = {0, 0};
    SINEW_UNROLL
    for (unsigned warp = 0; warp < block_warps; ++warp) {
        if (warp < at.warp) before = sum_of(before, sums[warp]);
        all = sum_of(all, sums[warp]);
    }
    return before;
}

}  // namespace

// The second number of launch bounds is of the blocks that a multiprocessor has at a time. It limits the
// registers, so that enough requests of many warps are under way.
extern "C" {

__global__ void __launch_bounds__(block_threads)
    sinew_selection_begin(__grid_constant__ Selection const call) {
    selection_begin_thread(call, threadIdx.x);
}

__global__ void __launch_bounds__(block_threads, 8)
    sinew_selection_histogram(__grid_constant__ Selection const call) {
    __shared__ std::uint32_t histogram[selection_bins];
    for (unsigned bin = threadIdx.x; bin < selection_bins; bin += block_threads) histogram[bin] = 0;
    __syncthreads();
    LanePosition const at = this_lane();
    for (std::uint64_t chunk = at.warp; chunk < selection_chunks(call.count); chunk += at.warps)
        selection_histogram_lane(call, chunk, at.lane,
                                 [&](std::uint32_t bin) { atomicAdd(&histogram[bin], 1u); });
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < selection_bins; bin += block_threads)
        if (histogram[bin] != 0) atomicAdd(&call.state->histogram[bin], histogram[bin]);
}

__global__ void __launch_bounds__(block_threads)
    sinew_selection_choose(__grid_constant__ Selection const call) {
    __shared__ std::uint32_t sums[block_threads];
    SelectionBins const bins(call, threadIdx.x);
    std::uint32_t const wanted = call.state->wanted;
    sums[threadIdx.x] = bins.sum();
    __syncthreads();
    bins.choose(call, threadIdx.x, wanted, sums);
}

__global__ void __launch_bounds__(block_threads, 6)
    sinew_selection_gather(__grid_constant__ Selection const call) {
    LanePosition const at = this_lane();
    std::uint32_t const threshold = call.state->threshold;
    for (std::uint64_t chunk = at.warp; chunk < selection_chunks(call.count); chunk += at.warps) {
        ChunkCounts found{0, 0};  // above: of this lane; at: of the warp
        for (std::uint32_t round = 0; round < selection_rounds; ++round) {
            auto const own = selection_gather_masks(call, chunk, round, at.lane, threshold);
            auto const candidates = static_cast<std::uint32_t>(std::popcount(own.at));
            std::uint32_t const until = sum_until(candidates, at.lane);
            selection_gather_lane(call, chunk, round, at.lane, own.at,
                                  found.at + until - candidates);
            found = sum_of(
                found, {static_cast<std::uint32_t>(std::popcount(own.above)), of_last_lane(until)});
        }
        found.above = __reduce_add_sync(all_lanes, found.above);
        if (at.lane == 0) call.chunks[chunk] = found;
    }
}

__global__ void __launch_bounds__(block_threads, 8)
    sinew_selection_count(__grid_constant__ Selection const call) {
    LanePosition const at = this_lane();
    for (std::uint64_t chunk = at.warp; chunk < selection_chunks(call.count); chunk += at.warps) {
        ChunkCounts found = selection_count_lane(call, chunk, at.lane);
        found.above = __reduce_add_sync(all_lanes, found.above);
        found.at = __reduce_add_sync(all_lanes, found.at);
        if (at.lane == 0) selection_count_chunk(call, chunk, found);
    }
}

__global__ void __launch_bounds__(block_threads)
    sinew_selection_offsets(__grid_constant__ Selection const call) {
    __shared__ ChunkCounts sums[2][block_warps];
    std::uint64_t const tiles = SelectionTile::tiles(call);
    ChunkCounts before_tile{0, 0};
    SelectionTile tile(call, 0, threadIdx.x);
    for (std::uint64_t t = 0; t < tiles; ++t) {
        SelectionTile const next(call, t + 1, threadIdx.x);  // read before it is needed
        ChunkCounts all;
        ChunkCounts const before = counts_before(tile.sum(), sums[t % 2], all);
        tile.store_offsets(call, sum_of(before_tile, before));
        before_tile = sum_of(before_tile, all);
        tile = next;
    }
}

__global__ void __launch_bounds__(block_threads, 6)
    sinew_selection_compact(__grid_constant__ Selection const call) {
    LanePosition const at = this_lane();
    std::uint32_t const threshold = call.state->threshold, wanted = call.state->wanted;
    for (std::uint64_t chunk = at.warp; chunk < selection_chunks(call.count); chunk += at.warps) {
        ChunkCounts before = call.chunks[chunk];
        for (std::uint32_t round = 0; round < selection_rounds; ++round) {
            auto const own = selection_compact_masks(call, chunk, round, at.lane, threshold);
            QuarterCounts const counts = quarter_counts(own);
            QuarterCounts const until{sum_until(counts.above, at.lane),
                                      sum_until(counts.at, at.lane)};
            QuarterCounts const all{of_last_lane(until.above), of_last_lane(until.at)};
            selection_compact_lane(call, chunk, round, at.lane, wanted, own, before,
                                   {until.above - counts.above, until.at - counts.at}, all);
            before = counts_after(before, all);
        }
    }
}

}  // extern "C"

}  // namespace sinew::sgd
