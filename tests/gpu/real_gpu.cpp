// SPDX-License-Identifier: Apache-2.0
// main() of tests that were written for the fake CUDA driver and run on a GPU here, and what they call of it: by
// the CUDA runtime, so that the program also starts where there is no driver. All ranks use the first GPU.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <iostream>

#include "tests/fake_gpu/fake_cuda.hpp"
#include "tests/fake_gpu/fake_kernels.hpp"
#include "tests/gpu/gpu_or_skip.hpp"

extern "C" {

void fake_cuda_use_device(int) {
    // The context that the runtime makes is also that of the driver's functions in this thread.
    if (cudaSetDevice(0) == cudaSuccess && cudaFree(nullptr) == cudaSuccess) return;
    std::cerr << "the first GPU cannot be used\n";
    std::abort();
}
void fake_cuda_kernels(FakeKernels, FakeParameterBytes) {}
int cuMemAlloc_v2(unsigned long long* memory, std::size_t bytes) {
    return cudaMalloc(reinterpret_cast<void**>(memory), bytes);
}
int cuMemFree_v2(unsigned long long memory) { return cudaFree(reinterpret_cast<void*>(memory)); }
int cuMemcpy(unsigned long long to, unsigned long long from, std::size_t bytes) {
    int const error = cudaMemcpy(reinterpret_cast<void*>(to), reinterpret_cast<void const*>(from),
                                 bytes, cudaMemcpyDefault);
    // A copy of pageable memory returns when it has been read, perhaps before it has arrived.
    return error != 0 ? error : cudaStreamSynchronize(nullptr);
}
int cuStreamCreate(void** stream, unsigned flags) {
    return cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(stream), flags);
}
int cuStreamDestroy_v2(void* stream) {
    return cudaStreamDestroy(static_cast<cudaStream_t>(stream));
}
int cuStreamSynchronize(void* stream) {
    return cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
}

}  // extern "C"

namespace sinew::tests {

void run_fake_kernel(char const*, unsigned, void const*) {}
std::size_t fake_kernel_bytes(char const*) { return 0; }

}  // namespace sinew::tests

int main(int argc, char** argv) {
    sinew::tests::need_gpu();
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
