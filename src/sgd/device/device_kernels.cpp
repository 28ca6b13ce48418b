// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/device/device_kernels.hpp"

#include <algorithm>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/sgd/device/kernel_image.hpp"

namespace sinew::sgd {

namespace {

/// Throws UsageError unless the pointer is there and aligned.
void need_pointer(char const* call, char const* name, void const* pointer, std::size_t alignment) {
    if (pointer == nullptr)
        throw UsageError(text(call, ": ", name, " is null. Pass memory of the GPU"));
    if (!is_aligned(pointer, alignment))
        throw UsageError(text(call, ": ", name, " is ", pointer, ", which is not aligned for ",
                              alignment, " bytes"));
}

void check_blocks(char const* call, void const* rows, float const* elements,
                  float const* residual) {
    need_pointer(call, "rows", rows, sizeof(float));
    if (elements != nullptr) need_pointer(call, "elements", elements, 16);
    if (residual != nullptr) need_pointer(call, "residual", residual, 16);
}

std::size_t state_bytes() { return (sizeof(SelectionState) + 15) / 16 * 16; }

}  // namespace

DeviceKernels::DeviceKernels(CudaDriver const& driver, CudaDriver::Context context)
    : DeviceKernels(driver, context, kernel_images()) {}

DeviceKernels::DeviceKernels(CudaDriver const& driver, CudaDriver::Context context,
                             Images const& images)
    : driver_(driver), context_(context) {
    CudaContextScope const scope(driver_, context_);
    try {
        load(images);
    } catch (...) {
        unload();
        throw;
    }
}

DeviceKernels::~DeviceKernels() {
    try {
        CudaContextScope const scope(driver_, context_);
        unload();
    } catch (Error const&) {  // the context has ended, and its modules with it
    }
}

void DeviceKernels::load(Images const& images) {
    int device = 0, processors = 0, threads = 0;
    driver_.check(driver_.context_device(&device), "cuCtxGetDevice");
    driver_.check(driver_.device_attribute(&processors, CudaDriver::multiprocessor_count, device),
                  "cuDeviceGetAttribute");
    driver_.check(
        driver_.device_attribute(&threads, CudaDriver::threads_per_multiprocessor, device),
        "cuDeviceGetAttribute");
    resident_blocks_ = static_cast<unsigned>(std::max(1, processors)) *
                       std::max(1U, static_cast<unsigned>(threads) / block_threads);
    for (std::span<std::byte const> const image : images) {
        CudaDriver::Module module = nullptr;
        int const result = driver_.module_load(&module, image.data());
        if (result == CudaDriver::no_binary_for_gpu)
            throw Unavailable(text("the kernels of this sinew are for ", kernel_targets(),
                                   ", and GPU ", device, " is none of these (",
                                   driver_.words(result),
                                   "). Build sinew with its number in SINEW_CUDA_ARCHITECTURES"));
        driver_.check(result, "cuModuleLoadData");
        modules_.push_back(module);
    }
    for (std::size_t kernel = 0; kernel < kernel_count; ++kernel) {
        int result = CudaDriver::not_found;
        for (std::size_t m = 0; m < modules_.size() && result == CudaDriver::not_found; ++m)
            result =
                driver_.module_function(&functions_[kernel], modules_[m], kernel_names[kernel]);
        if (result != CudaDriver::success)
            throw BackendError(text("cuModuleGetFunction of ", kernel_names[kernel],
                                    ": CUDA error ", result, " (", driver_.words(result), ')'),
                               result);
    }
}

void DeviceKernels::unload() noexcept {
    for (CudaDriver::Module const module : modules_) driver_.module_unload(module);
    modules_.clear();
}

template <class Call>
void DeviceKernels::launch(Kernel kernel, Call const& call, std::uint64_t blocks,
                           CudaDriver::Stream stream) const {
    if (blocks == 0) return;
    CudaContextScope const scope(driver_, context_);
    Call copy = call;
    void* parameters[] = {&copy};
    auto const grid = static_cast<unsigned>(blocks);
    driver_.check(driver_.launch_kernel(functions_[static_cast<std::size_t>(kernel)], grid, 1, 1,
                                        block_threads, 1, 1, 0, stream, parameters, nullptr),
                  name_of(kernel));
}

template <class Call>
void DeviceKernels::launch_warps(Kernel kernel, Call const& call, std::uint64_t warps,
                                 CudaDriver::Stream stream, unsigned waves) const {
    std::uint64_t const blocks = (warps + block_warps - 1) / block_warps;
    launch(kernel, call, std::min(blocks, std::uint64_t{waves} * resident_blocks_), stream);
}

void DeviceKernels::flatten(SegmentCopy const& call, CudaDriver::Stream stream) const {
    if (call.segment_count == 0) return;
    need_pointer("flatten", "bucket", call.bucket, bytes_of(call.bucket_format));
    need_pointer("flatten", "segments", call.segments, alignof(Segment));
    launch_warps(Kernel::flatten, call, call.segment_count, stream);
}

void DeviceKernels::unflatten(SegmentCopy const& call, CudaDriver::Stream stream) const {
    if (call.segment_count == 0) return;
    need_pointer("unflatten", "bucket", call.bucket, bytes_of(call.bucket_format));
    need_pointer("unflatten", "segments", call.segments, alignof(Segment));
    launch_warps(Kernel::unflatten, call, call.segment_count, stream);
}

void DeviceKernels::convert(ScaledCast const& call, CudaDriver::Stream stream) const {
    if (call.count == 0) return;
    need_pointer("convert", "to", call.to, bytes_of(call.to_format));
    need_pointer("convert", "from", call.from, bytes_of(call.from_format));
    launch_warps(Kernel::convert, call, parts_of(call.count), stream);
}

void DeviceKernels::add(TwoSum const& call, CudaDriver::Stream stream) const {
    if (call.count == 0) return;
    need_pointer("add", "out", call.out, bytes_of(call.format));
    need_pointer("add", "a", call.a, bytes_of(call.format));
    need_pointer("add", "b", call.b, bytes_of(call.format));
    launch_warps(Kernel::add, call, parts_of(call.count), stream);
}

void DeviceKernels::sgd(SgdStep const& call, CudaDriver::Stream stream) const {
    if (call.segment_count == 0) return;
    need_pointer("sgd", "bucket", call.bucket, bytes_of(call.bucket_format));
    need_pointer("sgd", "segments", call.segments, alignof(SgdSegment));
    launch_warps(Kernel::sgd, call, call.segment_count, stream);
}

void DeviceKernels::quantise(Quantisation const& call, CudaDriver::Stream stream) const {
    if (call.row_count == 0 || call.blocks == 0) return;
    need_pointer("quantise", "in", call.in, 16);
    check_blocks("quantise", call.rows, call.in, call.residual);
    launch_warps(Kernel::quantise, call, call.row_count * call.blocks, stream);
}

void DeviceKernels::dequantise(Dequantisation const& call, CudaDriver::Stream stream) const {
    if (call.row_count == 0 || call.blocks == 0) return;
    need_pointer("dequantise", "out", call.out, 16);
    check_blocks("dequantise", call.rows, call.out, nullptr);
    launch_warps(Kernel::dequantise, call, call.row_count * call.blocks, stream);
}

void DeviceKernels::sum_rows(RowSum const& call, CudaDriver::Stream stream) const {
    if (call.blocks == 0) return;
    need_pointer("sum_rows", "result", call.result, sizeof(float));
    check_blocks("sum_rows", call.row_count != 0 ? call.rows : call.result, nullptr, call.residual);
    launch_warps(Kernel::sum_rows, call, RowSumLane::items(call), stream);
}

void DeviceKernels::squares(SegmentSquares const& call, CudaDriver::Stream stream) const {
    if (call.segment_count == 0) return;
    need_pointer("squares", "sums", call.sums, alignof(double));
    need_pointer("squares", "bucket", call.bucket, bytes_of(call.bucket_format));
    need_pointer("squares", "segments", call.segments, alignof(Segment));
    launch_warps(Kernel::squares, call, call.segment_count, stream);
}

std::size_t DeviceKernels::selection_workspace_bytes(std::uint64_t count) {
    constexpr std::size_t of_chunk = sizeof(ChunkCounts) + selection_room * sizeof(std::uint32_t);
    return state_bytes() + static_cast<std::size_t>(selection_chunks(count)) * of_chunk;
}

void DeviceKernels::select(Selection call, CudaDriver::Address workspace,
                           CudaDriver::Stream stream) const {
    if (call.count > 0xffffffffULL)
        throw UsageError(text("select: ", call.count,
                              " values, but indices have 32 bits. Select from parts of them"));
    if (call.k > call.count)
        throw UsageError(text("select: k is ", call.k, ", but there are ", call.count, " values"));
    if (call.k == 0) return;
    auto* const memory = reinterpret_cast<std::byte*>(workspace);
    need_pointer("select", "values", call.values, 16);
    need_pointer("select", "indices", call.indices, sizeof(std::uint32_t));
    need_pointer("select", "selected", call.selected, sizeof(float));
    need_pointer("select", "workspace", memory, 16);
    call.state = reinterpret_cast<SelectionState*>(memory);
    call.chunks = reinterpret_cast<ChunkCounts*>(memory + state_bytes());
    std::uint64_t const chunks = selection_chunks(call.count);
    call.candidates = reinterpret_cast<std::uint32_t*>(call.chunks + chunks);
    call.pass = 0;
    launch(Kernel::selection_begin, call, 1, stream);
    for (; call.pass < selection_passes; ++call.pass) {
        // One wave: each block adds its histogram to that of all.
        launch_warps(Kernel::selection_histogram, call, chunks, stream, 1);
        launch(Kernel::selection_choose, call, 1, stream);
        if (call.pass == 0) launch_warps(Kernel::selection_gather, call, chunks, stream);
    }
    launch_warps(Kernel::selection_count, call, chunks, stream);
    launch(Kernel::selection_offsets, call, 1, stream);
    launch_warps(Kernel::selection_compact, call, chunks, stream);
}

}  // namespace sinew::sgd
