// SPDX-License-Identifier: Apache-2.0
// Kernels on tensors, buckets and vectors; what a lane does is in *_lanes.hpp, which the host compiles too.
#include "src/sgd/device/block_lanes.hpp"
#include "src/sgd/device/element_lanes.hpp"
#include "src/sgd/device/sgd_lanes.hpp"
#include "src/sgd/device/squares_lanes.hpp"

namespace sinew::sgd {

namespace {

template <class Lane, class Call>
__device__ void for_each_block(Call const& call) {
    constexpr unsigned all_lanes = 0xffffffffu;
    LanePosition const at = this_lane();
    for (std::uint64_t item = at.warp; item < Lane::items(call); item += at.warps) {
        Lane lane;
        lane.load(call, item, at.lane);
        // Each lane finds the scale of one block: a division takes as long as many elements.
        std::uint32_t largest = 0;
        SINEW_UNROLL
        for (std::uint32_t k = 0; k < Lane::blocks; ++k) {
            std::uint32_t const of_block = __reduce_max_sync(all_lanes, lane.own[k].largest());
            if (k == at.lane % Lane::blocks) largest = of_block;
        }
        BlockScale const own = BlockScale::of(call.format, largest);
        SINEW_UNROLL
        for (std::uint32_t k = 0; k < Lane::blocks; ++k)
            lane.store(
                call, item, k, at.lane,
                {__shfl_sync(all_lanes, own.scale, k), __shfl_sync(all_lanes, own.inverse, k)});
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

__global__ void __launch_bounds__(block_threads, 3)
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
