// SPDX-License-Identifier: Apache-2.0
// Buffers in GPU memory are refused with a clear error; managed and pinned buffers are accepted.
// Exit code 77 (skipped) without a GPU; with SINEW_REQUIRE_GPU=1 that is a failure.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <iostream>
#include <span>
#include <string>

#include <sinew/error.hpp>
#include <sinew/world.hpp>

namespace {

constexpr std::size_t count = 1 << 16;

[[noreturn]] void no_gpu(cudaError_t error) {
    bool const required =
        std::string(std::getenv("SINEW_REQUIRE_GPU") ? std::getenv("SINEW_REQUIRE_GPU") : "") ==
        "1";
    std::cout << (required ? "FAIL" : "SKIP") << ": no CUDA device (error " << error << ": "
              << cudaGetErrorString(error) << ")\n";
    std::exit(required ? 1 : 77);
}

bool is_refused(sinew::Communicator& comm, float* data) {
    try {
        comm.allreduce(std::span(data, count), sinew::sum);
        return false;
    } catch (sinew::UsageError const& error) {
        std::cout << error.what() << '\n';
        return std::string(error.what()).find("memory of a GPU") != std::string::npos;
    }
}

bool expect(bool what, char const* text) {
    std::cout << (what ? "ok: " : "FAIL: ") << text << '\n';
    return what;
}

}  // namespace

int main(int argc, char** argv) {
    int devices = 0;
    if (auto const error = cudaGetDeviceCount(&devices); error != cudaSuccess || devices == 0)
        no_gpu(error);
    float *device = nullptr, *managed = nullptr, *pinned = nullptr;
    bool good = expect(
        cudaMalloc(reinterpret_cast<void**>(&device), count * sizeof(float)) == cudaSuccess &&
            cudaMallocManaged(reinterpret_cast<void**>(&managed), count * sizeof(float)) ==
                cudaSuccess &&
            cudaMallocHost(reinterpret_cast<void**>(&pinned), count * sizeof(float)) == cudaSuccess,
        "memory of three kinds");
    if (!good) return 1;
    sinew::World world(argc, argv);
    good &= expect(is_refused(world.communicator(), device), "device memory is refused");
    good &= expect(!is_refused(world.communicator(), managed), "managed memory is taken");
    good &= expect(!is_refused(world.communicator(), pinned), "pinned memory is taken");
    return good ? 0 : 1;
}
