// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <vector>

#include <sinew/comm/buffer.hpp>

#include "tests/fake_gpu/fake_cuda.hpp"
#include "tests/fake_gpu/fake_nccl.hpp"

namespace sinew::tests {

/// Lets sinew find the fake NCCL. Call it before the first call on the memory of a GPU.
inline void use_fake_nccl() { ::setenv("SINEW_NCCL_LIBRARY", FAKE_NCCL, 1); }

/// Elements in the memory of the current GPU, which only the device's side may touch.
template <class T>
class DeviceArray {
public:
    explicit DeviceArray(std::vector<T> const& values) : count_(values.size()) {
        if (cuMemAlloc_v2(&memory_, count_ * sizeof(T) + 1) != 0)
            throw std::runtime_error("cuMemAlloc");
        set(values);
    }
    explicit DeviceArray(std::size_t count, T value = {})
        : DeviceArray(std::vector<T>(count, value)) {}
    DeviceArray(DeviceArray const&) = delete;
    DeviceArray& operator=(DeviceArray const&) = delete;
    ~DeviceArray() { cuMemFree_v2(memory_); }

    T* data() const { return reinterpret_cast<T*>(memory_); }
    std::size_t size() const { return count_; }
    std::span<T> span() const { return {data(), count_}; }
    std::span<T> part(std::size_t from, std::size_t count) const {
        return span().subspan(from, count);
    }
    std::vector<T> values() const {
        std::vector<T> all(count_);
        copy(reinterpret_cast<std::uintptr_t>(all.data()), memory_);
        return all;
    }
    /// Requires: as many as there are.
    void set(std::vector<T> const& values) const {
        copy(memory_, reinterpret_cast<std::uintptr_t>(values.data()));
    }

private:
    void copy(unsigned long long to, unsigned long long from) const {
        if (count_ > 0 && cuMemcpy(to, from, count_ * sizeof(T)) != 0)
            throw std::runtime_error("cuMemcpy");
    }

    unsigned long long memory_ = 0;
    std::size_t count_;
};

class DeviceStream {
public:
    DeviceStream() {
        if (cuStreamCreate(&stream_, 1) != 0) throw std::runtime_error("cuStreamCreate");
    }
    DeviceStream(DeviceStream const&) = delete;
    DeviceStream& operator=(DeviceStream const&) = delete;
    ~DeviceStream() { cuStreamDestroy_v2(stream_); }
    operator void*() const { return stream_; }
    int synchronize() const { return cuStreamSynchronize(stream_); }
    /// Gives the stream a function to call.
    void call(void (*function)(void*), void* argument) const {
        fake_cuda_enqueue(stream_, function, argument, [](void*) {});
    }

private:
    void* stream_ = nullptr;
};

}  // namespace sinew::tests
