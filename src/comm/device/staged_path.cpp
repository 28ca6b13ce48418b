// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/staged_path.hpp"

#include <algorithm>
#include <numeric>

#include <sinew/error.hpp>

#include "src/base/log.hpp"
#include "src/base/retained.hpp"
#include "src/base/text.hpp"

namespace sinew::detail {

namespace {

using C = Collective;

/// Whether element i of the result depends on element i of the inputs alone.
bool is_elementwise(Collective collective) {
    return collective == C::allreduce || collective == C::reduce || collective == C::broadcast ||
           collective == C::scan || collective == C::exscan;
}

}  // namespace

/// How a call is cut into chunks: chunk k takes the same range of elements of every part.
class StagedPath::Cut {
public:
    Cut(Invocation const& call, int rank, int size)
        : call_(call), rank_(rank), n_(static_cast<std::size_t>(size)),
          reads_(uses_in(call, rank) && !(call.collective == C::broadcast && rank != call.root)),
          writes_(uses_out(call, rank) && !(call.collective == C::broadcast && rank == call.root) &&
                  !(call.collective == C::exscan && rank == 0)),
          type_(uses_in(call, rank) ? call.in.type : call.out.type), element_(type_.size()) {
        bool const root = rank == call.root;
        switch (call.collective) {
            case C::reduce_scatter_block:
                in_parts_ = n_;
                part_ = call.in.count / n_;
                break;
            case C::allgather:
                out_parts_ = n_;
                part_ = call.in_place ? call.out.count / n_ : call.in.count;
                if (call.in_place) in_offset_ = static_cast<std::size_t>(rank) * part_;
                break;
            case C::gather:
                out_parts_ = n_;
                part_ = call.in_place && root ? call.out.count / n_ : call.in.count;
                if (call.in_place && root) in_offset_ = static_cast<std::size_t>(rank) * part_;
                break;
            case C::scatter:
                in_parts_ = n_;
                part_ = call.in_place && root ? call.in.count / n_ : call.out.count;
                if (call.in_place && root) out_offset_ = static_cast<std::size_t>(rank) * part_;
                break;
            case C::alltoall:
                in_parts_ = out_parts_ = n_;
                part_ = call.in.count / n_;
                break;
            default:
                part_ = uses_in(call, rank) ? call.in.count : call.out.count;
        }
        bool const by_parts = !is_elementwise(call.collective);
        std::size_t const row = element_ * (by_parts ? n_ : 1);
        std::size_t const chunk = std::clamp(part_ * row / slots, shortest_chunk, longest_chunk);
        length_ = std::max<std::size_t>(1, chunk / row);
    }

    std::size_t chunks() const { return (part_ + length_ - 1) / length_; }
    std::size_t in_bytes() const { return in_parts_ * length_ * element_; }
    std::size_t out_bytes() const {
        return is_elementwise(call_.collective) ? 0 : out_parts_ * length_ * element_;
    }

    void load(CopyStream& stream, std::size_t chunk, std::byte* to) const {
        if (!reads_) return;
        auto const* const from = static_cast<std::byte const*>(call_.in.data);
        for (std::size_t p = 0; p < in_parts_; ++p)
            stream.copy(to + p * length(chunk) * element_,
                        from + (in_offset_ + p * part_ + chunk * length_) * element_,
                        length(chunk) * element_);
    }
    void store(CopyStream& stream, std::size_t chunk, std::byte const* from) const {
        if (!writes_) return;
        auto* const to = static_cast<std::byte*>(call_.out.data);
        for (std::size_t p = 0; p < out_parts_; ++p)
            stream.copy(to + (out_offset_ + p * part_ + chunk * length_) * element_,
                        from + p * length(chunk) * element_, length(chunk) * element_);
    }
    /// The call of the host on a chunk.
    Invocation host_call(std::size_t chunk, std::byte* in, std::byte* out) const {
        Invocation host = call_;
        host.device = nullptr;
        host.options.stream = nullptr;
        host.options.after = nullptr;
        if (is_elementwise(call_.collective)) {
            host.in_place = true;
            host.out = {in, length(chunk), type_};
            host.in = host.out;
            return host;
        }
        host.in_place = false;
        host.in = {uses_in(call_, rank_) ? in : nullptr,
                   uses_in(call_, rank_) ? in_parts_ * length(chunk) : 0, type_};
        host.out = {uses_out(call_, rank_) ? out : nullptr,
                    uses_out(call_, rank_) ? out_parts_ * length(chunk) : 0, type_};
        return host;
    }
    /// Where the result of a chunk is in a slot.
    std::byte const* result(std::byte const* in, std::byte const* out) const {
        return is_elementwise(call_.collective) ? in : out;
    }

private:
    std::size_t length(std::size_t chunk) const {
        return std::min(length_, part_ - chunk * length_);
    }

    Invocation const& call_;
    int rank_;
    std::size_t n_;
    bool reads_, writes_;
    DataType type_;
    std::size_t element_;
    std::size_t part_ = 0, length_ = 1;
    std::size_t in_parts_ = 1, out_parts_ = 1;
    std::size_t in_offset_ = 0, out_offset_ = 0;  // of this rank's own part in a whole, in place
};

StagedPath::StagedPath(CudaDriver const& driver, CudaDriver::Context context)
    : driver_(driver), context_(context), down_(driver, context), up_(driver, context) {}

StagedPath::~StagedPath() = default;

void StagedPath::retain() noexcept try {
    for (Slot& slot : slots_) {
        retain_value_until_exit(slot.in);
        retain_value_until_exit(slot.out);
    }
    retain_value_until_exit(whole_in_);
    retain_value_until_exit(whole_out_);
} catch (std::exception const& error) {
    log_warning(text("no memory to keep the buffers of a lost communicator: ", error.what()));
}

PinnedMemory& StagedPath::grown(PinnedMemory& memory, std::size_t bytes) {
    if (memory.bytes() < bytes) {
        memory = {};
        memory = {driver_, context_, bytes};
    }
    return memory;
}

void StagedPath::run(DeviceCall const& call) {
    DeviceSide const& side = *call.call.device;
    if (side.captured)
        throw UsageError(text(call.what,
                              ": this call passes through host memory, so it cannot be "
                              "captured in a graph"));
    down_.reuse_marks();
    up_.reuse_marks();
    if (side.after) down_.wait_for(side.after.get());
    else if (side.stream != nullptr) down_.order_after(side.stream);
    Cut const cut(call.call, call.channel.rank(), call.channel.size());
    if (call.call.has_parts()) run_whole(call);
    else run_in_chunks(call, cut);
    // The results of a call with a stream are ready in the order of the stream.
    if (side.returns_enqueued()) up_.order_before(side.stream);
    up_.await(up_.mark(), call.policy);
}

void StagedPath::run_in_chunks(DeviceCall const& call, Cut const& cut) {
    std::size_t const chunks = cut.chunks();
    for (Slot& slot : slots_) slot.arrived = slot.emptied = nullptr;
    auto const load = [&](std::size_t chunk) {
        if (chunk >= chunks) return;
        Slot& slot = slots_[chunk % slots];
        down_.wait_for(slot.emptied);  // the result of an earlier chunk is copied from there
        cut.load(down_, chunk, grown(slot.in, cut.in_bytes()).data());
        grown(slot.out, cut.out_bytes());
        slot.arrived = down_.mark();
    };
    for (std::size_t chunk = 0; chunk < slots; ++chunk) load(chunk);
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        Slot& slot = slots_[chunk % slots];
        down_.await(slot.arrived, call.policy);
        call.on_host(cut.host_call(chunk, slot.in.data(), slot.out.data()));
        cut.store(up_, chunk, cut.result(slot.in.data(), slot.out.data()));
        slot.emptied = up_.mark();
        load(chunk + slots);
    }
}

/// Parts of different lengths: gaps between them keep their contents.
void StagedPath::run_whole(DeviceCall const& call) {
    Invocation const& device = call.call;
    int const rank = call.channel.rank();
    bool const reads = uses_in(device, rank), writes = uses_out(device, rank);
    Invocation host = device;
    host.device = nullptr;
    host.options.stream = nullptr;
    host.options.after = nullptr;
    if (reads) {
        std::byte* const in = grown(whole_in_, device.in.bytes()).data();
        down_.copy(in, device.in.data, device.in.bytes());
        host.in.data = in;
    }
    if (device.in_place) host.out.data = const_cast<void*>(host.in.data);
    else if (writes) host.out.data = grown(whole_out_, device.out.bytes()).data();
    if (device.in_place && !reads) {
        host.out.data = grown(whole_in_, device.out.bytes()).data();
        host.in.data = host.out.data;
    }
    down_.await(down_.mark(), call.policy);
    call.on_host(host);
    // In place, a rank that is not the root of a gather has no result.
    if (!writes) return;
    auto* const to = static_cast<std::byte*>(device.out.data);
    auto const* const from = static_cast<std::byte const*>(host.out.data);
    bool const has_all_parts = device.collective == C::allgatherv ||
                               device.collective == C::gatherv || device.collective == C::alltoallv;
    std::size_t const element = device.out.type.size();
    if (has_all_parts) {
        std::size_t packed = 0;
        for (std::size_t r = 0; r < device.parts.counts.size(); ++r) {
            std::size_t const offset =
                device.parts.offsets.empty() ? packed : device.parts.offsets[r];
            up_.copy(to + offset * element, from + offset * element,
                     device.parts.counts[r] * element);
            packed += device.parts.counts[r];
        }
    } else if (device.collective == C::scatterv && device.in_place && rank == device.root) {
        return;  // the root's own part stays where it is
    } else if (device.collective == C::reduce_scatter && device.in_place) {
        up_.copy(to, from, device.parts.counts[static_cast<std::size_t>(rank)] * element);
    } else {
        up_.copy(to, from, device.out.bytes());
    }
}

}  // namespace sinew::detail
