// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/gpu/device_rows.hpp"

#include <cstring>

namespace sinew::sgd {

namespace {

float* floats(detail::OwnedDeviceMemory const& memory) {
    return static_cast<float*>(memory.data());
}

}  // namespace

DeviceRows::DeviceRows(DeviceQueues& queues, float* elements, RowShape const& shape)
    : queues_(queues), elements_(elements), shape_(shape), rows_(queues.allocate(shape.bytes())) {
    if (!shape_.error_feedback) return;
    std::size_t const bytes = shape_.elements() * sizeof(float);
    std::size_t const sum_bytes = shape_.part_elements() * sizeof(float);
    residual_ = queues_.allocate(bytes);
    sum_residual_ = queues_.allocate(sum_bytes);
    queues_.up.clear(residual_.data(), bytes);
    queues_.up.clear(sum_residual_.data(), sum_bytes);
}

void DeviceRows::sum_on_host() {
    row_ = queues_.allocate(shape_.row_bytes());
    pinned_ = queues_.pin(shape_.bytes());
}

void DeviceRows::sum_on_device() { received_ = queues_.allocate(shape_.bytes()); }

BlockFormat DeviceRows::format() const {
    return shape_.format == WireFormat::fp8 ? BlockFormat::fp8 : BlockFormat::int8;
}

void DeviceRows::load() {
    queues_.kernels->quantise(
        {rows_.data(), elements_, floats(residual_), shape_.rows, shape_.blocks, format()},
        queues_.down.handle());
    if (pinned_.data() != nullptr) queues_.down.copy(pinned_.data(), rows_.data(), shape_.bytes());
}

void DeviceRows::reduce(Communicator& comm, CallOptions const& call, bool contributes) {
    Buffer const rows(rows_.data(), shape_.bytes(), DataType::Kind::u8);
    Buffer const received(received_.data(), shape_.bytes(), DataType::Kind::u8);
    if (!contributes) queues_.up.clear(rows_.data(), shape_.bytes());
    comm.alltoall(rows, received, call);
    std::byte* const own = static_cast<std::byte*>(rows_.data()) +
                           static_cast<std::size_t>(comm.rank()) * shape_.row_bytes();
    queues_.kernels->sum_rows(
        {own, received_.data(), floats(sum_residual_), shape_.rows, shape_.blocks, format()},
        queues_.up.handle());
    comm.allgather(rows, call);
    queues_.kernels->dequantise({elements_, rows_.data(), shape_.rows, shape_.blocks, format(), 0},
                                queues_.up.handle());
}

bool DeviceRows::arrive() {
    arrived_ = true;
    return has_broken_block(pinned_.data());
}

/// The scale of a block with NaN or infinity is NaN.
bool DeviceRows::has_broken_block(std::byte const* rows) const {
    for (std::size_t row = 0; row < shape_.rows; ++row)
        for (std::size_t block = 0; block < shape_.blocks; ++block) {
            float scale;
            std::memcpy(&scale, rows + row * shape_.row_bytes() + block * sizeof scale,
                        sizeof scale);
            if (scale != scale) return true;
        }
    return false;
}

void DeviceRows::encode(std::byte* rows, bool contributes) {
    if (arrived_ && contributes) std::memcpy(rows, pinned_.data(), shape_.bytes());
    else std::memset(rows, 0, shape_.bytes());  // the rows of zeros
    arrived_ = false;
}

void DeviceRows::send(std::byte const* rows) {
    std::memcpy(pinned_.data(), rows, shape_.bytes());
    queues_.up.copy(rows_.data(), pinned_.data(), shape_.bytes());
}

void DeviceRows::await_up(char const* what) const {
    queues_.await(queues_.up, queues_.up.mark(), what);
}

void DeviceRows::sum(std::byte* row, std::byte const* rows) {
    send(rows);
    queues_.kernels->sum_rows(
        {row_.data(), rows_.data(), floats(sum_residual_), shape_.rows, shape_.blocks, format()},
        queues_.up.handle());
    queues_.up.copy(pinned_.data(), row_.data(), shape_.row_bytes());
    await_up("summed the gradients of all ranks");
    std::memcpy(row, pinned_.data(), shape_.row_bytes());
}

void DeviceRows::decode(std::byte const* rows) {
    broken_ = has_broken_block(rows);
    decodes_ = true;
    send(rows);
    queues_.kernels->dequantise({elements_, rows_.data(), shape_.rows, shape_.blocks, format(), 0},
                                queues_.up.handle());
}

std::size_t DeviceRows::residual_count() const {
    return shape_.error_feedback ? shape_.elements() + shape_.part_elements() : 0;
}

std::vector<float> DeviceRows::residuals() const {
    std::vector<float> all(residual_count());
    if (all.empty()) return all;
    queues_.fetch(std::span(all).first(shape_.elements()), residual_);
    queues_.fetch(std::span(all).subspan(shape_.elements()), sum_residual_);
    return all;
}

void DeviceRows::restore(std::span<float const> residuals) {
    if (residuals.empty()) return;
    queues_.put(residual_, residuals.first(shape_.elements()));
    queues_.put(sum_residual_, residuals.subspan(shape_.elements()));
}

}  // namespace sinew::sgd
