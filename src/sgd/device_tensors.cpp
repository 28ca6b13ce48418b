// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/device_tensors.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

#include <sinew/error.hpp>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/comm/device/device_memory.hpp"
#include "src/sgd/device/kernel_image.hpp"

namespace sinew::sgd {

namespace {

bool lies_on_device(Gradient const& gradient) {
    return !gradient.allocated && gradient.elements.count > 0 &&
           detail::is_device_memory(gradient.elements.data, gradient.elements.bytes());
}

FloatFormat format_of(std::vector<Gradient> const& gradients, std::size_t tensor) {
    switch (gradients[tensor].elements.type.kind()) {
        case DataType::Kind::f32:
            return FloatFormat::f32;
        case DataType::Kind::bf16:
            return FloatFormat::bf16;
        case DataType::Kind::f16:
            return FloatFormat::f16;
        default:
            throw UsageError(
                text("GradientBuckets: ", tensor_text(gradients, tensor),
                     " is in the memory of a GPU, where f32, bf16 and f16 are possible"));
    }
}

FloatFormat format_of(DataType type) {
    return type == DataType::Kind::f32    ? FloatFormat::f32
           : type == DataType::Kind::bf16 ? FloatFormat::bf16
                                          : FloatFormat::f16;
}

CudaDriver::Context context_of(CudaDriver const& driver, void const* pointer) {
    CudaDriver::Context context = nullptr;
    auto const address = reinterpret_cast<CudaDriver::Address>(pointer);
    if (driver.pointer_attribute(&context, CudaDriver::context, address) == CudaDriver::success &&
        context != nullptr)
        return context;
    driver.check(driver.context_get(&context), "cuCtxGetCurrent");  // memory of a pool
    if (context == nullptr)
        throw UsageError("this thread has no CUDA context. Call cudaSetDevice first");
    return context;
}

/// The context of all tensors; null if none is in the memory of a GPU.
CudaDriver::Context find_context(CudaDriver const& driver, std::vector<Gradient> const& gradients) {
    std::optional<std::size_t> first, on_host;
    CudaDriver::Context context = nullptr;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (!lies_on_device(gradients[i])) {
            if (gradients[i].elements.count > 0 && !on_host) on_host = i;
            continue;
        }
        CudaDriver::Context const own = context_of(driver, gradients[i].elements.data);
        if (first && own != context)
            throw UsageError(text("GradientBuckets: ", tensor_text(gradients, *first), " and ",
                                  tensor_text(gradients, i),
                                  " are in the memory of different GPUs. Give each GPU a rank"));
        context = own;
        if (!first) first = i;
    }
    if (first && on_host)
        throw UsageError(text("GradientBuckets: ", tensor_text(gradients, *first),
                              " is in the memory of a GPU, and ", tensor_text(gradients, *on_host),
                              " is not. Use one GradientBuckets for each memory"));
    return context;
}

}  // namespace

std::unique_ptr<DeviceTensors> DeviceTensors::find(std::vector<Gradient> const& gradients,
                                                   std::vector<BucketPlan> const& plans,
                                                   CudaDriver::Stream stream,
                                                   std::chrono::nanoseconds timeout) {
    bool const any = std::any_of(gradients.begin(), gradients.end(), lies_on_device);
    return find(gradients, plans, stream, timeout, any ? kernel_images() : DeviceKernels::Images());
}

std::unique_ptr<DeviceTensors> DeviceTensors::find(std::vector<Gradient> const& gradients,
                                                   std::vector<BucketPlan> const& plans,
                                                   CudaDriver::Stream stream,
                                                   std::chrono::nanoseconds timeout,
                                                   DeviceKernels::Images const& images) {
    CudaDriver const* const driver = CudaDriver::loaded();
    CudaDriver::Context const context =
        driver == nullptr ? nullptr : find_context(*driver, gradients);
    if (context == nullptr) {
        if (stream != nullptr)
            throw UsageError(
                "GradientOptions: a stream was given, but no tensor is in the memory of a GPU");
        return nullptr;
    }
    std::unique_ptr<DeviceTensors> made(
        new DeviceTensors(*driver, context, stream, timeout, images));
    for (BucketPlan const& plan : plans) made->add_bucket(gradients, plan);
    made->settle();
    return made;
}

DeviceTensors::DeviceTensors(CudaDriver const& driver, CudaDriver::Context context,
                             CudaDriver::Stream stream, std::chrono::nanoseconds timeout,
                             DeviceKernels::Images const& images)
    : driver_(driver), context_(context), stream_(stream), timeout_(timeout),
      kernels_(std::make_unique<DeviceKernels>(driver, context, images)), down_(driver, context),
      up_(driver, context) {}

DeviceTensors::~DeviceTensors() {
    if (!settle_quietly()) {
        log_warning(
            "GradientBuckets: the GPU is not done with the gradients; the memory that it "
            "may use is left behind");
        // Neither kernels nor pinned memory may go while the GPU may use them.
        static_cast<void>(kernels_.release());
        for (Bucket& bucket : buckets_) new detail::PinnedMemory(std::move(bucket.pinned));
        return;
    }
    try {
        CudaContextScope const scope(driver_, context_);
        for (CudaDriver::Address const memory : allocated_) driver_.memory_free(memory);
    } catch (Error const&) {  // the context was destroyed, and the memory with it
    }
}

CudaDriver::Address DeviceTensors::allocate(std::size_t bytes) {
    CudaContextScope const scope(driver_, context_);
    CudaDriver::Address memory = 0;
    driver_.check(driver_.memory_allocate(&memory, std::max<std::size_t>(1, bytes)), "cuMemAlloc");
    allocated_.push_back(memory);
    return memory;
}

void DeviceTensors::add_bucket(std::vector<Gradient> const& gradients, BucketPlan const& plan) {
    Bucket& bucket = buckets_.emplace_back();
    bucket.type = plan.type;
    bucket.parts = plan.parts;
    bucket.bytes = plan.count * plan.type.size();
    bucket.memory = allocate(bucket.bytes);
    bucket.pinned = {driver_, context_, bucket.bytes};
    // Nothing is ever written between tensors.
    std::memset(bucket.pinned.data(), 0, bucket.bytes);
    up_.copy(reinterpret_cast<void*>(bucket.memory), bucket.pinned.data(), bucket.bytes);
    for (FloatFormat const format : {FloatFormat::f32, FloatFormat::bf16, FloatFormat::f16}) {
        std::vector<TensorPlace> places;
        for (BucketPlan::Part const& part : plan.parts) {
            if (part.count == 0 || format_of(gradients, part.tensor) != format) continue;
            places.push_back({reinterpret_cast<std::uint64_t>(gradients[part.tensor].elements.data),
                              part.offset, part.count, bytes_of(format)});
        }
        if (places.empty()) continue;
        std::vector<Segment> const segments = segments_of(places);
        std::size_t const bytes = segments.size() * sizeof(Segment);
        detail::PinnedMemory const list(driver_, context_, bytes);
        std::memcpy(list.data(), segments.data(), bytes);
        bucket.lists.push_back({format, allocate(bytes), segments.size()});
        up_.copy(reinterpret_cast<void*>(bucket.lists.back().segments), list.data(), bytes);
        await(up_, up_.mark(), "copied the list of tensors", timeout_);
    }
    bucket.stored = up_.mark();
}

void DeviceTensors::await(detail::CopyStream const& stream, CudaDriver::Event event,
                          char const* what, std::chrono::nanoseconds limit) const {
    using Clock = std::chrono::steady_clock;
    Clock::time_point const end = Clock::now() + limit;
    for (int round = 0; !stream.has_reached(event); ++round) {
        if (round < 100) continue;
        if (Clock::now() >= end)
            throw Timeout(text("the GPU has not ", what, " after ",
                               std::chrono::duration_cast<std::chrono::milliseconds>(limit).count(),
                               " ms. The stream that computes the gradients may hang; otherwise "
                               "raise GradientOptions::timeout or SINEW_TIMEOUT"));
        if (round < 1000) std::this_thread::yield();
        else std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

void DeviceTensors::load(std::size_t index, double scale) {
    std::lock_guard const lock(loading_);
    Bucket& bucket = buckets_[index];
    if (stream_ != nullptr) down_.order_after(stream_);
    for (Bucket::List const& list : bucket.lists)
        kernels_->flatten({reinterpret_cast<void*>(bucket.memory),
                           reinterpret_cast<Segment const*>(list.segments), list.count, list.format,
                           format_of(bucket.type), static_cast<float>(scale)},
                          down_.handle());
    down_.copy(bucket.pinned.data(), reinterpret_cast<void const*>(bucket.memory), bucket.bytes);
    bucket.loaded = down_.mark();
}

bool DeviceTensors::arrive(std::size_t index, void* elements) {
    Bucket& bucket = buckets_[index];
    CudaDriver::Event event = nullptr;
    {
        std::lock_guard const lock(loading_);
        event = bucket.loaded;
    }
    if (event == nullptr) return false;
    await(down_, event, "copied the gradients to the host", timeout_);
    std::size_t const element = bucket.type.size();
    for (BucketPlan::Part const& part : bucket.parts)
        if (part.count > 0)
            std::memcpy(static_cast<std::byte*>(elements) + part.offset * element,
                        bucket.pinned.data() + part.offset * element, part.count * element);
    std::lock_guard const lock(loading_);
    bucket.loaded = nullptr;
    return true;
}

void DeviceTensors::store(std::size_t index, void const* elements, double scale) {
    Bucket& bucket = buckets_[index];
    if (bucket.stored != nullptr)
        await(up_, bucket.stored, "taken the gradients of the last step", timeout_);
    if (bucket.bytes > 0) std::memcpy(bucket.pinned.data(), elements, bucket.bytes);
    up_.copy(reinterpret_cast<void*>(bucket.memory), bucket.pinned.data(), bucket.bytes);
    for (Bucket::List const& list : bucket.lists)
        kernels_->unflatten({reinterpret_cast<void*>(bucket.memory),
                             reinterpret_cast<Segment const*>(list.segments), list.count,
                             list.format, format_of(bucket.type), static_cast<float>(scale)},
                            up_.handle());
    bucket.stored = up_.mark();
}

void DeviceTensors::settle() { settle_within(timeout_); }

void DeviceTensors::settle_within(std::chrono::nanoseconds limit) {
    std::lock_guard const lock(loading_);
    for (Bucket& bucket : buckets_) {
        if (bucket.loaded != nullptr)
            await(down_, bucket.loaded, "copied the gradients to the host", limit);
        if (bucket.stored != nullptr) await(up_, bucket.stored, "taken the gradients", limit);
        bucket.loaded = bucket.stored = nullptr;
    }
    down_.reuse_marks();
    up_.reuse_marks();
}

bool DeviceTensors::settle_quietly() noexcept try {
    settle_within(std::min<std::chrono::nanoseconds>(timeout_, std::chrono::seconds(2)));
    return true;
} catch (std::exception const&) {
    return false;
}

}  // namespace sinew::sgd
