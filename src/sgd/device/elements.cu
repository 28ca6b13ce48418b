// SPDX-License-Identifier: Apache-2.0
// Kernels on tensors, buckets and vectors; what a lane does is in *_lanes.hpp, which the host compiles too.
#include "src/sgd/device/block_lanes.hpp"
#include "src/sgd/device/element_lanes.hpp"
#include "src/sgd/device/sgd_lanes.hpp"
#include "src/sgd/device/squares_lanes.hpp"

namespace sinew::sgd {

namespace {

/// The largest value among each `lanes` neighbouring lanes, in all of them.
template <unsigned lanes>
__device__ std::uint32_t largest_of_lanes(std::uint32_t value) {
    constexpr unsigned all_lanes = 0xffffffffu;
    if constexpr (lanes == warp_lanes) {
        return __reduce_max_sync(all_lanes, value);
    } else {
        SINEW_UNROLL
        for (unsigned step = 1; step < lanes; step *= 2)
            value = max(value, __shfl_xor_sync(all_lanes, value, step));
        return value;
    }
}

template <class Lane, class Call>
__device__ void for_each_block(Call const& call) {
    LanePosition const at = this_lane();
    for (std::uint64_t item = at.warp; item < Lane::items(call); item += at.warps) {
        Lane lane;
        lane.load(call, item, at.lane);
        std::uint32_t const largest = largest_of_lanes<Lane::block_lanes>(lane.largest());
        lane.store(call, item, at.lane, BlockScale::of(call.format, largest));
    }
}

}  // namespace

// The second number of launch bounds is of the blocks that a multiprocessor has at a time. It limits the
// registers, so that enough requests of many warps are under way.
extern "C" {

__global__ void __launch_bounds__(block_threads)
    sinew_flatten(__grid_constant__ SegmentCopy const call) {
    copy_segments_lane<true>(call, this_lane());
}

__global__ void __launch_bounds__(block_threads)
    sinew_unflatten(__grid_constant__ SegmentCopy const call) {
    copy_segments_lane<false>(call, this_lane());
}

__global__ void __launch_bounds__(block_threads)
    sinew_convert(__grid_constant__ ScaledCast const call) {
    convert_lane(call, this_lane());
}

__global__ void __launch_bounds__(block_threads) sinew_add(__grid_constant__ TwoSum const call) {
    add_lane(call, this_lane());
}

__global__ void __launch_bounds__(block_threads) sinew_sgd(__grid_constant__ SgdStep const call) {
    sgd_lane(call, this_lane());
}

__global__ void __launch_bounds__(block_threads, 8)
    sinew_quantise(__grid_constant__ Quantisation const call) {
    for_each_block<QuantiseLane>(call);
}

__global__ void __launch_bounds__(block_threads, 6)
    sinew_dequantise(__grid_constant__ Dequantisation const call) {
    dequantise_lane(call, this_lane());
}

__global__ void __launch_bounds__(block_threads, 4)
    sinew_sum_rows(__grid_constant__ RowSum const call) {
    for_each_block<RowSumLane>(call);
}

__global__ void __launch_bounds__(block_threads)
    sinew_squares(__grid_constant__ SegmentSquares const call) {
    LanePosition const at = this_lane();
    for (std::uint64_t item = at.warp; item < call.segment_count; item += at.warps) {
        double sum = squares_lane(call, item, at.lane);
        for (unsigned step = warp_lanes / 2; step > 0; step /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (at.lane == 0) call.sums[item] = sum;
    }
}

}  // extern "C"

}  // namespace sinew::sgd
