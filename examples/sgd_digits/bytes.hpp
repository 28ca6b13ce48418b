// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <sinew/sgd/training_state.hpp>
#include <span>
#include <vector>

namespace sgd_digits {

/// Values as a checkpoint stores them.
template <class T>
sinew::TrainingState::Bytes bytes_of(std::span<T> values) {
    auto const bytes = std::as_bytes(values);
    return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<T> values_of(std::span<std::byte const> bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
}

}  // namespace sgd_digits
