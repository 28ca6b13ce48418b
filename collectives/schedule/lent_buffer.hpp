// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "collectives/channel.hpp"
#include "src/base/retained.hpp"

namespace sinew::collectives {

/// An array of the library that is sent from or received into. It is freed at the end of its scope,
/// or retained until exit if the Transport may still access buffers of a failed operation.
template <class T>
class LentBuffer {
public:
    LentBuffer(Channel const& channel, std::size_t count, T const& value = T())
        : channel_(channel), values_(count, value) {}
    LentBuffer(LentBuffer const&) = delete;
    LentBuffer& operator=(LentBuffer const&) = delete;
    ~LentBuffer() {
        if (channel_.holds_cancelled_buffers()) detail::retain_value_until_exit(std::move(values_));
    }

    std::vector<T>& operator*() { return values_; }
    std::vector<T>* operator->() { return &values_; }

private:
    Channel const& channel_;
    std::vector<T> values_;
};

}  // namespace sinew::collectives
