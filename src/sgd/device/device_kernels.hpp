// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/gpus/cuda_driver.hpp"
#include "src/sgd/device/block_lanes.hpp"
#include "src/sgd/device/element_lanes.hpp"
#include "src/sgd/device/kernel.hpp"
#include "src/sgd/device/selection_threads.hpp"
#include "src/sgd/device/sgd_lanes.hpp"
#include "src/sgd/device/squares_lanes.hpp"

namespace sinew::sgd {

/// The kernels of SGD on one GPU. Each call enqueues on a stream of this GPU and returns; the memory must
/// be that GPU's (or what it can access) and live until the stream is done. May be captured in graphs.
///
/// Arguments that no kernel takes (null, not aligned, too long) are UsageErrors; what the driver refuses
/// is a BackendError. Calls with nothing to do enqueue nothing. Threads may call at the same time.
class DeviceKernels {
public:
    using Images = std::vector<std::span<std::byte const>>;

    /// Loads the kernels into the context. Throws Unavailable if the library was built without kernels or
    /// has none for this GPU; BackendError.
    DeviceKernels(CudaDriver const& driver, CudaDriver::Context context);
    /// The same with other images.
    DeviceKernels(CudaDriver const& driver, CudaDriver::Context context, Images const& images);
    DeviceKernels(DeviceKernels const&) = delete;
    DeviceKernels& operator=(DeviceKernels const&) = delete;
    /// Unloads them. Requires: the streams are done with them.
    ~DeviceKernels();

    /// Tensors into the bucket, any number of them in one launch.
    void flatten(SegmentCopy const& call, CudaDriver::Stream stream) const;
    /// The bucket into its tensors.
    void unflatten(SegmentCopy const& call, CudaDriver::Stream stream) const;
    void convert(ScaledCast const& call, CudaDriver::Stream stream) const;
    void add(TwoSum const& call, CudaDriver::Stream stream) const;
    void sgd(SgdStep const& call, CudaDriver::Stream stream) const;
    void quantise(Quantisation const& call, CudaDriver::Stream stream) const;
    void dequantise(Dequantisation const& call, CudaDriver::Stream stream) const;
    void sum_rows(RowSum const& call, CudaDriver::Stream stream) const;
    void squares(SegmentSquares const& call, CudaDriver::Stream stream) const;
    /// Eleven launches, in which the values are read three times. `workspace` has
    /// selection_workspace_bytes(count) bytes (1/16 of the values' and little more), aligned for 16. Other
    /// fields than values, count, k, indices and selected are set by the call. Up to 2^32 - 1 values.
    void select(Selection call, CudaDriver::Address workspace, CudaDriver::Stream stream) const;

    static std::size_t selection_workspace_bytes(std::uint64_t count);

private:
    void load(Images const& images);
    void unload() noexcept;
    template <class Call>
    void launch(Kernel kernel, Call const& call, std::uint64_t blocks,
                CudaDriver::Stream stream) const;
    /// Launches a kernel that has work for so many warps, in at most `waves` times the blocks that the GPU
    /// has room for. Several waves divide the work more evenly.
    template <class Call>
    void launch_warps(Kernel kernel, Call const& call, std::uint64_t warps,
                      CudaDriver::Stream stream, unsigned waves = 8) const;

    CudaDriver const& driver_;
    CudaDriver::Context context_;
    unsigned resident_blocks_ = 0;  ///< with which all multiprocessors are full
    std::vector<CudaDriver::Module> modules_;
    std::array<CudaDriver::Function, kernel_count> functions_{};
};

}  // namespace sinew::sgd
