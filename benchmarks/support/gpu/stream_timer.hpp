// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "tests/gpu/gpu_machine.hpp"

namespace sinew::bench {

/// Times what a stream does, by two events in it.
class StreamTimer {
public:
    StreamTimer() {
        tests::check_cuda(cudaEventCreate(&begin_), "cudaEventCreate");
        tests::check_cuda(cudaEventCreate(&end_), "cudaEventCreate");
    }
    StreamTimer(StreamTimer const&) = delete;
    ~StreamTimer() {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
    }
    /// The seconds between the beginning and the end, on the GPU, of what `work` enqueues.
    template <class Work>
    double seconds(cudaStream_t stream, Work const& work) const {
        tests::check_cuda(cudaEventRecord(begin_, stream), "cudaEventRecord");
        work();
        tests::check_cuda(cudaEventRecord(end_, stream), "cudaEventRecord");
        tests::check_cuda(cudaEventSynchronize(end_), "cudaEventSynchronize");
        float milliseconds = 0;
        tests::check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_),
                          "cudaEventElapsedTime");
        return double{milliseconds} / 1000;
    }

private:
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace sinew::bench
