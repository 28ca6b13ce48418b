// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/device_side.hpp"

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/comm/device/device_memory.hpp"

namespace sinew::detail {

namespace {

/// Whether a buffer is in GPU memory. An empty one is asked for, too, where only its place tells in
/// which memory this rank takes part.
bool is_on_device(ConstBuffer const& buffer, bool also_empty) {
    if (buffer.data == nullptr) return false;
    std::size_t const bytes = buffer.bytes();
    return is_device_memory(buffer.data, bytes == 0 && also_empty ? 1 : bytes);
}

/// An event that the caller's stream has reached when it has done all that it was given so far.
std::shared_ptr<void> event_now(CudaDriver const& driver, CudaDriver::Context context,
                                CudaDriver::Stream stream) {
    CudaContextScope const scope(driver, context);
    CudaDriver::Event event = nullptr;
    driver.check(driver.event_create(&event, CudaDriver::event_without_timing), "cuEventCreate");
    std::shared_ptr<void> owned(event, [&driver](void* made) { driver.event_destroy(made); });
    driver.check(driver.event_record(event, stream), "cuEventRecord");
    return owned;
}

void find_context(DeviceSide& side) {
    CudaDriver const& driver = *side.driver;
    if (side.pointer != 0 &&
        driver.pointer_attribute(&side.context, CudaDriver::context, side.pointer) ==
            CudaDriver::success &&
        side.context != nullptr)
        return;
    // Memory of a pool belongs to no context.
    driver.check(driver.context_get(&side.context), "cuCtxGetCurrent");
    if (side.context == nullptr)
        throw UsageError("this thread has no CUDA context. Call cudaSetDevice first");
}

bool is_capturing(DeviceSide const& side, CudaDriver::Stream stream) {
    int status = CudaDriver::capture_none;
    CudaContextScope const scope(*side.driver, side.context);
    side.driver->check(side.driver->stream_is_capturing(stream, &status), "cuStreamIsCapturing");
    return status != CudaDriver::capture_none;
}

/// Throws UsageError if the options name two streams, or one to wait for that is being captured.
void look_at_streams(DeviceSide& side, CallOptions const& options) {
    side.stream = options.stream;
    if (side.stream != nullptr) side.captured = is_capturing(side, side.stream);
    if (options.after == nullptr) return;
    if (side.stream != nullptr)
        throw UsageError("both stream and after are given (expected one of them)");
    if (is_capturing(side, options.after))
        throw UsageError(
            "the stream to wait for (after) records a graph. Name it as the stream of the call, "
            "which then becomes part of the graph");
    side.after = event_now(*side.driver, side.context, options.after);
}

}  // namespace

std::shared_ptr<DeviceSide const> device_side_of(Invocation const& call, int rank, Returns returns,
                                                 std::function<std::string()> const& self) {
    auto const refuse = [&](auto const&... words) {
        throw Refusal(text(self(), ": ", call.text(), ": ", words...), true);
    };
    auto const& options = call.options;
    bool const with_parts = call.has_parts();
    bool const in =
        uses_in(call, rank) && options.memory != Memory::host && is_on_device(call.in, with_parts);
    // In place both are one buffer, which one of the two names stands for.
    bool const one_buffer = call.in_place && uses_in(call, rank);
    bool const out = !one_buffer && uses_out(call, rank) && options.memory != Memory::host &&
                     is_on_device(call.out, with_parts);
    if (!in && !out && options.memory != Memory::device) {
        if (names_stream(options))
            refuse(
                "a stream was given, but the buffers are in host memory. Streams order calls on "
                "the memory of a GPU only");
        return nullptr;
    }
    bool const in_counts = uses_in(call, rank) && call.in.bytes() > 0;
    bool const out_counts = !one_buffer && uses_out(call, rank) && call.out.bytes() > 0;
    if ((in_counts && !in) || (out_counts && !out))
        refuse(in_counts && !in ? "in" : "out",
               " is in host memory, but the call is on the memory of a GPU",
               in || out ? "" : " (Memory::device)", ". Copy one to where the other is");
    auto side = std::make_shared<DeviceSide>();
    side->driver = CudaDriver::loaded();
    if (side->driver == nullptr)
        refuse("Memory::device, but the program has loaded no CUDA driver");
    side->pointer = reinterpret_cast<CudaDriver::Address>(in    ? call.in.data
                                                          : out ? call.out.data
                                                                : nullptr);
    try {
        find_context(*side);
        look_at_streams(*side, options);
        bool const needs_copy = call.collective == Collective::reduce_scatter ||
                                call.collective == Collective::alltoall ||
                                call.collective == Collective::alltoallv;
        if (side->captured && call.in_place && needs_copy)
            refuse(
                "this call allocates memory in place, so it cannot be captured in a graph. Use the "
                "form with two buffers");
        if (returns == Returns::at_once && side->stream != nullptr) {
            if (side->captured)
                refuse(
                    "a non-blocking call cannot be captured in a graph. Use the blocking form, "
                    "which returns at once on a stream");
            side->after = event_now(*side->driver, side->context, side->stream);
        }
    } catch (Refusal const&) {
        throw;
    } catch (Error const& error) {
        refuse(error.what());
    }
    return side;
}

std::shared_ptr<DeviceSide const> device_side_of(ConstBuffer const& buffer,
                                                 CallOptions const& options) {
    if (options.memory == Memory::host) return nullptr;
    if (!is_on_device(buffer, false) && (options.memory != Memory::device || buffer.bytes() > 0))
        return nullptr;
    auto side = std::make_shared<DeviceSide>();
    side->driver = CudaDriver::loaded();
    if (side->driver == nullptr) return nullptr;
    side->pointer = reinterpret_cast<CudaDriver::Address>(buffer.data);
    find_context(*side);
    look_at_streams(*side, options);
    return side;
}

}  // namespace sinew::detail
