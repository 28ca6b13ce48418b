// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/device_message.hpp"

#include <sinew/error.hpp>

#include "src/base/retained.hpp"
#include "src/base/text.hpp"
#include "src/comm/device/device_paths.hpp"

namespace sinew::detail {

template <class... Words>
void DeviceMessage::refuse(Words const&... words) const {
    throw UsageError(text(state_.detector_.self_text(), ": ", message_.text(), ": ", words...));
}

DeviceMessage::DeviceMessage(CommunicatorState& state, PointToPoint const& message)
    : state_(state), message_(message), host_(message) {
    if (message.out) out_side_ = device_side_of(*message.out, message.options);
    if (message.in) in_side_ = device_side_of(*message.in, message.options);
    bool const all = (!message.out || out_side_) && (!message.in || in_side_);
    if ((message.options.stream != nullptr && !all) || (message.options.after != nullptr && !*this))
        refuse(
            "a stream was given, but a buffer is in host memory. Streams order calls on the memory "
            "of a GPU only");
    host_.options.stream = nullptr;
    host_.options.after = nullptr;
}

DeviceMessage::~DeviceMessage() {
    if (!state_.lost() || !state_.transport().holds_cancelled_buffers()) return;
    retain_value_until_exit(in_);
    retain_value_until_exit(out_);
}

void DeviceMessage::refuse_stream() const {
    if (message_.options.stream != nullptr)
        refuse(
            "a non-blocking message cannot be ordered by a stream. Use the blocking form, which "
            "returns at once on a stream");
}

std::optional<Received> DeviceMessage::enqueue() {
    if (message_.options.stream == nullptr) return std::nullopt;
    if (!state_.devices_)
        refuse(
            "the ranks have not agreed yet how GPUs communicate. Call a collective on the memory "
            "of "
            "a GPU before");
    if (state_.devices_->nccl() == nullptr) {
        if (side().captured)
            refuse("this message passes through host memory, so it cannot be captured in a graph (",
                   state_.devices_->description(), ')');
        return std::nullopt;
    }
    if (message_.in && message_.from == any_source)
        refuse("on a stream the source must be known, because NCCL matches messages by rank");
    ProgressPolicy policy = state_.message_policy(message_, nullptr);
    state_.devices_->nccl()->run(message_, side(),
                                 text(state_.detector_.self_text(), ": ", message_.text()), policy,
                                 state_.deadlines_of(message_.options));
    if (!message_.in) return Received{};
    return Received{message_.from, message_.tag, message_.in->count};
}

void DeviceMessage::load(Operation* operation) {
    CudaDriver const& driver = *side().driver;
    copies_.emplace(driver, side().context);
    if (side().after) copies_->wait_for(side().after.get());
    else if (side().stream != nullptr) copies_->order_after(side().stream);
    if (in_side_) {
        in_ = PinnedMemory(driver, side().context, message_.in->bytes());
        host_.in->data = in_.data();
    }
    if (!out_side_) return;
    out_ = PinnedMemory(driver, side().context, message_.out->bytes());
    host_.out->data = out_.data();
    copies_->copy(out_.data(), message_.out->data, message_.out->bytes());
    ProgressPolicy policy = state_.message_policy(message_, operation);
    copies_->await(copies_->mark(), policy);
}

void DeviceMessage::store(Received const& received, Operation* operation) {
    if (!in_side_) return;
    copies_->copy(message_.in->data, in_.data(), received.count * message_.in->type.size());
    if (side().stream != nullptr) copies_->order_before(side().stream);
    ProgressPolicy policy = state_.message_policy(message_, operation);
    copies_->await(copies_->mark(), policy);
}

}  // namespace sinew::detail
