// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "benchmarks/support/gpu/gpu.hpp"

namespace sinew::bench {

/// Times what a stream does, by two events in it.
class StreamTimer {
public:
    StreamTimer() {
        check_cuda(cudaEventCreate(&begin_), "cudaEventCreate");
        check_cuda(cudaEventCreate(&end_), "cudaEventCreate");
    }
    StreamTimer(StreamTimer const&) = delete;
    ~StreamTimer() {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
    }
    /// The seconds between the beginning and the end, on the GPU, of what `work` enqueues.
    template <class Work>
    double seconds(cudaStream_t stream, Work const& work) const {
        check_cuda(cudaEventRecord(begin_, stream), "cudaEventRecord");
        work();
        check_cuda(cudaEventRecord(end_, stream), "cudaEventRecord");
        check_cuda(cudaEventSynchronize(end_), "cudaEventSynchronize");
        float milliseconds = 0;
        check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
        return double{milliseconds} / 1000;
    }

private:
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace sinew::bench
