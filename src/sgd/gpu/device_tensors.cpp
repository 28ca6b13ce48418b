// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/gpu/device_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include <sinew/error.hpp>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/comm/communicator_state.hpp"
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
                                                   Options const& options) {
    bool const any = std::any_of(gradients.begin(), gradients.end(), lies_on_device);
    return find(gradients, plans, options, any ? kernel_images() : DeviceKernels::Images());
}

std::unique_ptr<DeviceTensors> DeviceTensors::find(std::vector<Gradient> const& gradients,
                                                   std::vector<BucketPlan> const& plans,
                                                   Options const& options,
                                                   DeviceKernels::Images const& images) {
    CudaDriver const* const driver = CudaDriver::loaded();
    CudaDriver::Context const context =
        driver == nullptr ? nullptr : find_context(*driver, gradients);
    if (context == nullptr) {
        if (options.stream != nullptr)
            throw UsageError(
                "GradientOptions: a stream was given, but no tensor is in the memory of a GPU");
        return nullptr;
    }
    std::unique_ptr<DeviceTensors> made(new DeviceTensors(*driver, context, options, images));
    for (BucketPlan const& plan : plans)
        made->add_bucket(gradients, plan, RowShape(plan.count, options.ranks, options.gradients));
    made->settle();
    return made;
}

DeviceTensors::DeviceTensors(CudaDriver const& driver, CudaDriver::Context context,
                             Options const& options, DeviceKernels::Images const& images)
    : stream_(options.stream), update_(options.update),
      queues_(std::make_unique<DeviceQueues>(driver, context, options.timeout, images)) {}

DeviceTensors::~DeviceTensors() {
    if (settle_quietly()) return;
    log_warning(
        "GradientBuckets: the GPU is not done with the gradients; the memory that it "
        "may use is left behind");
    // Neither kernels nor memory may go while the GPU may use them.
    static_cast<void>(new std::vector<Bucket>(std::move(buckets_)));
    static_cast<void>(queues_.release());
}

void DeviceTensors::add_bucket(std::vector<Gradient> const& gradients, BucketPlan const& plan,
                               RowShape const& shape) {
    Bucket& bucket = buckets_.emplace_back();
    bucket.type = plan.type;
    bucket.parts = plan.parts;
    bucket.count = plan.count;
    bucket.bytes = (shape.is_quantised() ? shape.elements() : plan.count) * plan.type.size();
    bucket.memory = queues_->allocate(bucket.bytes);
    detail::CopyStream& up = queues_->up;
    up.clear(bucket.memory.data(), bucket.bytes);  // nothing is ever written between tensors
    if (shape.is_quantised())
        bucket.rows = std::make_unique<DeviceRows>(
            *queues_, static_cast<float*>(bucket.memory.data()), shape);
    for (FloatFormat const format : {FloatFormat::f32, FloatFormat::bf16, FloatFormat::f16}) {
        std::vector<TensorPlace> places;
        std::vector<std::size_t> tensors_of_places;
        for (BucketPlan::Part const& part : plan.parts) {
            if (part.count == 0 || format_of(gradients, part.tensor) != format) continue;
            places.push_back({reinterpret_cast<std::uint64_t>(gradients[part.tensor].elements.data),
                              part.offset, part.count, bytes_of(format)});
            tensors_of_places.push_back(part.tensor);
        }
        if (places.empty()) continue;
        std::vector<Segment> const segments = segments_of(places);
        std::vector<std::size_t> tensors;
        for (std::size_t place = 0; Segment const& segment : segments) {
            while (segment.offset >= places[place].offset + places[place].count) ++place;
            tensors.push_back(tensors_of_places[place]);
        }
        bucket.lists.push_back({format, send_list(segments), segments.size(), std::move(tensors)});
    }
    if (update_ != nullptr) add_update(gradients, bucket, plan.count);
    bucket.stored = up.mark();
}

void DeviceTensors::sum_on_host() {
    for (Bucket& bucket : buckets_) {
        if (bucket.rows) {
            bucket.rows->sum_on_host();
            continue;
        }
        bucket.pinned = queues_->pin(bucket.bytes);
        std::memset(bucket.pinned.data(), 0, bucket.bytes);
    }
}

void DeviceTensors::sum_on_device(Communicator& comm, GradientOptions const& options) {
    comm_ = &comm;
    call_timeout_ = options.timeout;
    for (Bucket& bucket : buckets_) {
        if (bucket.rows) bucket.rows->sum_on_device();
        if (options.check_finite) bucket.loaded_squares = allocate_squares(bucket);
        if (options.clip_norm > 0) bucket.summed_squares = allocate_squares(bucket);
    }
}

DeviceTensors::Bucket::Squares DeviceTensors::allocate_squares(Bucket const& bucket) const {
    std::size_t segments = 0;
    for (Bucket::List const& list : bucket.lists) segments += list.count;
    if (segments == 0) return {};
    return {queues_->allocate(segments * sizeof(double)), queues_->pin(segments * sizeof(double))};
}

void DeviceTensors::enqueue_squares(Bucket const& bucket, Bucket::Squares const& squares,
                                    detail::CopyStream& stream) const {
    auto* sums = static_cast<double*>(squares.sums.data());
    if (sums == nullptr) return;
    for (Bucket::List const& list : bucket.lists) {
        queues_->kernels->squares(
            {sums, bucket.memory.data(), static_cast<Segment const*>(list.segments.data()),
             list.count, format_of(bucket.type)},
            stream.handle());
        sums += list.count;
    }
    stream.copy(squares.pinned.data(), squares.sums.data(), squares.pinned.bytes());
}

bool DeviceTensors::connects_by_nccl(Communicator& comm, std::chrono::nanoseconds timeout) const {
    detail::OwnedDeviceMemory const memory = queues_->allocate(sizeof(float));
    comm.allreduce(Buffer(memory.data(), 1, DataType::Kind::f32), sum, {.timeout = timeout});
    return comm.state().uses_nccl();
}

template <class Item>
detail::OwnedDeviceMemory DeviceTensors::send_list(std::vector<Item> const& items) {
    std::size_t const bytes = items.size() * sizeof(Item);
    detail::PinnedMemory const list = queues_->pin(bytes);
    if (bytes > 0) std::memcpy(list.data(), items.data(), bytes);
    detail::OwnedDeviceMemory memory = queues_->allocate(bytes);
    queues_->up.copy(memory.data(), list.data(), bytes);
    queues_->await(queues_->up, queues_->up.mark(), "copied the list of tensors");
    return memory;
}

/// Throws UsageError if a parameter is not on the GPU of the gradients.
void DeviceTensors::add_update(std::vector<Gradient> const& gradients, Bucket& bucket,
                               std::size_t elements) {
    if (update_->rule.momentum > 0) {
        bucket.momentum_elements = elements;
        bucket.momentum = queues_->allocate(elements * sizeof(float));
        queues_->up.clear(bucket.momentum.data(), elements * sizeof(float));
    }
    auto const momentum = reinterpret_cast<std::uint64_t>(bucket.momentum.data());
    std::vector<TensorPlace> places;
    for (BucketPlan::Part const& part : bucket.parts) {
        if (part.count == 0) continue;
        Buffer const& parameter = update_->parameters[part.tensor];
        if (!detail::is_device_memory(parameter.data, parameter.bytes()) ||
            context_of(queues_->driver, parameter.data) != queues_->context)
            throw UsageError(text("DeviceSgd: the parameter of ",
                                  tensor_text(gradients, part.tensor),
                                  " is not in the memory of the GPU where its gradient is"));
        places.push_back({reinterpret_cast<std::uint64_t>(parameter.data), part.offset, part.count,
                          sizeof(float),
                          momentum != 0 ? momentum + part.offset * sizeof(float) : 0});
    }
    std::vector<SgdSegment> const segments = sgd_segments_of(places);
    bucket.sgd_segments = send_list(segments);
    bucket.sgd_segment_count = segments.size();
}

SegmentCopy DeviceTensors::Bucket::copy_of(List const& list, double scale) const {
    return {memory.data(),   static_cast<Segment const*>(list.segments.data()),
            list.count,      list.format,
            format_of(type), static_cast<float>(scale)};
}

void DeviceTensors::load(std::size_t index, double scale) {
    std::lock_guard const lock(queues_->loading);
    Bucket& bucket = buckets_[index];
    detail::CopyStream& down = queues_->down;
    if (stream_ != nullptr) down.order_after(stream_);
    if (comm_ != nullptr) {
        down.wait_for(bucket.stored);  // of a failed step
        // What was decoded there may be NaN between tensors.
        if (bucket.rows) down.clear(bucket.memory.data(), bucket.bytes);
    }
    for (Bucket::List const& list : bucket.lists)
        queues_->kernels->flatten(bucket.copy_of(list, scale), down.handle());
    enqueue_squares(bucket, bucket.loaded_squares, down);
    if (bucket.rows) bucket.rows->load();
    else if (comm_ == nullptr) down.copy(bucket.pinned.data(), bucket.memory.data(), bucket.bytes);
    bucket.loaded = down.mark();
}

void DeviceTensors::reduce(std::size_t index, bool contributes) {
    Bucket& bucket = buckets_[index];
    detail::CopyStream& up = queues_->up;
    CudaDriver::Event const loaded = loaded_of(bucket);
    up.wait_for(loaded);
    bucket.stored = up.mark();  // also if a call below fails, the stream must end before the memory
    bool const has_elements = contributes && loaded != nullptr;
    CallOptions const call{.timeout = call_timeout_, .stream = up.handle()};
    if (bucket.rows) {
        bucket.rows->reduce(*comm_, call, has_elements);
    } else {
        if (!has_elements) up.clear(bucket.memory.data(), bucket.bytes);
        comm_->allreduce(Buffer(bucket.memory.data(), bucket.count, bucket.type), sum, call);
    }
    enqueue_squares(bucket, bucket.summed_squares, up);
    bucket.stored = up.mark();
}

CudaDriver::Event DeviceTensors::loaded_of(Bucket const& bucket) {
    std::lock_guard const lock(queues_->loading);
    return bucket.loaded;
}

void DeviceTensors::check_communicator() const { comm_->state().throw_if_lost(); }

void DeviceTensors::await_loaded(Bucket const& bucket) {
    if (CudaDriver::Event const loaded = loaded_of(bucket))
        queues_->await(queues_->down, loaded, "computed the gradients", queues_->timeout,
                       [this] { check_communicator(); });
}

std::vector<std::size_t> DeviceTensors::not_finite(std::size_t index) {
    Bucket const& bucket = buckets_[index];
    std::vector<std::size_t> found;
    if (loaded_of(bucket) == nullptr) return found;
    await_loaded(bucket);
    auto squares = bucket.loaded_squares.values();
    for (Bucket::List const& list : bucket.lists) {
        for (std::size_t i = 0; i < list.count && !squares.empty(); ++i)
            if (!std::isfinite(squares[i])) found.push_back(list.tensors[i]);
        squares = squares.subspan(std::min(list.count, squares.size()));
    }
    return found;
}

double DeviceTensors::squares(std::size_t index) const {
    auto const squares = buckets_[index].summed_squares.values();
    return std::accumulate(squares.begin(), squares.end(), 0.0);
}

void DeviceTensors::await(std::size_t index) {
    Bucket const& bucket = buckets_[index];
    await_loaded(bucket);
    if (bucket.stored == nullptr) return;
    // Late ranks are the communicator's business, which ends then.
    auto const longest = comm_->state().deadlines_of({.timeout = call_timeout_}).late;
    queues_->await(queues_->up, bucket.stored, "summed the gradients",
                   longest + std::chrono::seconds(20), [this] { check_communicator(); });
    check_communicator();  // the GPU also comes to an end if a sum has failed
}

void DeviceTensors::copy_parts(Bucket const& bucket, void* elements) const {
    std::size_t const element = bucket.type.size();
    for (BucketPlan::Part const& part : bucket.parts)
        if (part.count > 0)
            std::memcpy(static_cast<std::byte*>(elements) + part.offset * element,
                        bucket.pinned.data() + part.offset * element, part.count * element);
}

bool DeviceTensors::arrive(std::size_t index, void* elements) {
    constexpr char const* copied = "copied the gradients to the host";
    Bucket& bucket = buckets_[index];
    CudaDriver::Event const event = loaded_of(bucket);
    if (event == nullptr) return false;
    queues_->await(queues_->down, event, copied);
    if (!bucket.rows) copy_parts(bucket, elements);
    bool const has_elements = !bucket.rows || bucket.rows->arrive();
    if (bucket.rows && has_elements) {
        queues_->up.copy(elements, bucket.memory.data(), bucket.bytes);
        queues_->await(queues_->up, queues_->up.mark(), copied);
    }
    std::lock_guard const lock(queues_->loading);
    bucket.loaded = nullptr;
    return has_elements;
}

void DeviceTensors::send(std::size_t index, void const* elements) {
    Bucket& bucket = buckets_[index];
    // The coder has decoded them there, or they were summed there.
    if (bucket.rows || comm_ != nullptr) return;
    if (bucket.stored != nullptr)
        queues_->await(queues_->up, bucket.stored, "taken the gradients of the last step");
    if (bucket.bytes > 0) std::memcpy(bucket.pinned.data(), elements, bucket.bytes);
    queues_->up.copy(bucket.memory.data(), bucket.pinned.data(), bucket.bytes);
    bucket.stored = queues_->up.mark();
}

/// The bucket's memory may be written by the next step after what was enqueued so far.
void DeviceTensors::end_of_use(Bucket& bucket) {
    if (bucket.rows && bucket.rows->has_broken_gaps())
        queues_->up.clear(bucket.memory.data(), bucket.bytes);
    bucket.stored = queues_->up.mark();
}

void DeviceTensors::store(std::size_t index, void const* elements, double scale) {
    send(index, elements);
    Bucket& bucket = buckets_[index];
    for (Bucket::List const& list : bucket.lists)
        queues_->kernels->unflatten(bucket.copy_of(list, scale), queues_->up.handle());
    end_of_use(bucket);
}

void DeviceTensors::update(std::size_t index, double scale) {
    Bucket& bucket = buckets_[index];
    Sgd const& rule = update_->rule;
    queues_->kernels->sgd(
        {bucket.memory.data(), static_cast<SgdSegment const*>(bucket.sgd_segments.data()),
         bucket.sgd_segment_count, format_of(bucket.type), static_cast<float>(scale),
         static_cast<float>(rule.learning_rate), static_cast<float>(rule.momentum),
         static_cast<float>(rule.weight_decay), rule.nesterov ? 1U : 0U},
        queues_->up.handle());
    end_of_use(bucket);
}

std::vector<float> DeviceTensors::momentum() {
    std::size_t count = 0;
    for (Bucket const& bucket : buckets_) count += bucket.momentum_elements;
    std::vector<float> all(count);
    std::span<float> rest(all);
    for (Bucket const& bucket : buckets_) {
        queues_->fetch(rest.first(bucket.momentum_elements), bucket.momentum);
        rest = rest.subspan(bucket.momentum_elements);
    }
    return all;
}

void DeviceTensors::restore_momentum(std::span<float const> values) {
    for (Bucket const& bucket : buckets_) {
        queues_->put(bucket.momentum, values.first(bucket.momentum_elements));
        values = values.subspan(bucket.momentum_elements);
    }
}

void DeviceTensors::settle() { settle_within(queues_->timeout); }

void DeviceTensors::settle_within(std::chrono::nanoseconds limit) {
    std::lock_guard const lock(queues_->loading);
    bool up_is_busy = false;
    for (Bucket& bucket : buckets_) {
        if (bucket.loaded != nullptr)
            queues_->await(queues_->down, bucket.loaded, "copied the gradients to the host", limit);
        bucket.loaded = nullptr;
        // A failed step may have decoded what it did not store.
        up_is_busy |= bucket.stored != nullptr || (bucket.rows && bucket.rows->decodes());
    }
    if (up_is_busy) queues_->await(queues_->up, queues_->up.mark(), "taken the gradients", limit);
    for (Bucket& bucket : buckets_) {
        bucket.stored = nullptr;
        if (bucket.rows) bucket.rows->drop();
    }
    queues_->down.reuse_marks();
    queues_->up.reuse_marks();
}

bool DeviceTensors::settle_quietly() noexcept try {
    settle_within(std::min<std::chrono::nanoseconds>(queues_->timeout, std::chrono::seconds(2)));
    return true;
} catch (std::exception const&) {
    return false;
}

}  // namespace sinew::sgd
