// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace sinew::tests {

/// Lets NCCL take each rank of a job to be on a host of its own, so that several may use one GPU and talk
/// over sockets. NVIDIA does not support this; it shows that calls are right, and nothing about time. Call
/// it before the first call of NCCL.
inline void use_nccl_on_one_gpu() {
    char const* const rank = std::getenv("SINEW_RANK");
    ::setenv("NCCL_HOSTID", (std::string("r") + (rank != nullptr ? rank : "0")).c_str(), 1);
    ::setenv("NCCL_SOCKET_IFNAME", "=lo", 1);
    ::setenv("NCCL_NET", "Socket", 1);
    ::setenv("NCCL_MNNVL_ENABLE", "0", 1);
    ::setenv("NCCL_RAS_ENABLE", "0", 1);
    ::setenv("NCCL_ALGO", "Ring", 1);
    ::setenv("NCCL_PROTO", "Simple", 1);
    ::setenv("NCCL_MAX_CTAS", "2", 1);
    ::setenv("NCCL_BUFFSIZE", "1048576", 1);
}

/// Elements in the memory of the GPU.
template <class T>
class OnDevice {
public:
    explicit OnDevice(std::vector<T> const& values) : count_(values.size()) {
        // Not null if it is empty: where the memory is must be known.
        cudaMalloc(reinterpret_cast<void**>(&data_), count_ * sizeof(T) + 1);
        cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyDefault);
        // A copy of pageable memory returns when it has been read, perhaps before it has arrived.
        cudaStreamSynchronize(nullptr);
    }
    OnDevice(OnDevice const&) = delete;
    ~OnDevice() { cudaFree(data_); }
    std::span<T> span() const { return {data_, count_}; }
    std::vector<T> values() const {
        std::vector<T> all(count_);
        cudaMemcpy(all.data(), data_, count_ * sizeof(T), cudaMemcpyDefault);
        return all;
    }

private:
    T* data_ = nullptr;
    std::size_t count_;
};

}  // namespace sinew::tests
