// SPDX-License-Identifier: Apache-2.0
// Kernels that select the k elements of the largest magnitude; see selection_threads.hpp.
#include "src/sgd/device/selection_threads.hpp"

namespace sinew::sgd {

namespace {

/// Returns the sum of the counts of the threads before this one, of one block; sets `all` to that of all.
__device__ ChunkCounts counts_before(ChunkCounts own, ChunkCounts& all) {
    __shared__ ChunkCounts sums[block_threads];
    sums[threadIdx.x] = own;
    __syncthreads();
    for (unsigned distance = 1; distance < block_threads; distance *= 2) {
        ChunkCounts other{0, 0};
        if (threadIdx.x >= distance) other = sums[threadIdx.x - distance];
        __syncthreads();
        sums[threadIdx.x].above += other.above;
        sums[threadIdx.x].at += other.at;
        __syncthreads();
    }
    ChunkCounts const until = sums[threadIdx.x];
    all = sums[block_threads - 1];
    __syncthreads();
    return {until.above - own.above, until.at - own.at};
}

}  // namespace

extern "C" {

__global__ void __launch_bounds__(block_threads)
    sinew_selection_begin(__grid_constant__ Selection const call) {
    selection_begin_thread(call, threadIdx.x);
}

__global__ void __launch_bounds__(block_threads)
    sinew_selection_histogram(__grid_constant__ Selection const call) {
    __shared__ std::uint32_t histogram[selection_bins];
    for (unsigned bin = threadIdx.x; bin < selection_bins; bin += block_threads) histogram[bin] = 0;
    __syncthreads();
    for (std::uint64_t chunk = blockIdx.x; chunk < selection_chunks(call.count); chunk += gridDim.x)
        selection_histogram_thread(
            call, chunk, threadIdx.x,
            [&](std::uint32_t bin, std::uint32_t n) { atomicAdd(&histogram[bin], n); });
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < selection_bins; bin += block_threads)
        if (histogram[bin] != 0) atomicAdd(&call.state->histogram[bin], histogram[bin]);
}

__global__ void __launch_bounds__(block_threads)
    sinew_selection_choose(__grid_constant__ Selection const call) {
    __shared__ std::uint32_t sums[block_threads];
    sums[threadIdx.x] = selection_bins_of_thread(call, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) selection_choose(call, sums);
    __syncthreads();
    selection_clear_thread(call, threadIdx.x);
}

__global__ void __launch_bounds__(block_threads)
    sinew_selection_count(__grid_constant__ Selection const call) {
    for (std::uint64_t chunk = blockIdx.x; chunk < selection_chunks(call.count);
         chunk += gridDim.x) {
        SelectionRun const run(call, chunk, threadIdx.x);
        ChunkCounts all;
        counts_before(run.counts(call.state->threshold), all);
        if (threadIdx.x == 0) call.chunks[chunk] = all;
    }
}

__global__ void __launch_bounds__(block_threads)
    sinew_selection_offsets(__grid_constant__ Selection const call) {
    ChunkCounts all;
    ChunkCounts const before = counts_before(selection_sum_thread(call, threadIdx.x), all);
    selection_offsets_thread(call, threadIdx.x, before);
}

__global__ void __launch_bounds__(block_threads)
    sinew_selection_compact(__grid_constant__ Selection const call) {
    for (std::uint64_t chunk = blockIdx.x; chunk < selection_chunks(call.count);
         chunk += gridDim.x) {
        SelectionRun const run(call, chunk, threadIdx.x);
        ChunkCounts all;
        ChunkCounts const before = counts_before(run.counts(call.state->threshold), all);
        selection_compact_thread(call, chunk, threadIdx.x, run, before);
    }
}

}  // extern "C"

}  // namespace sinew::sgd
