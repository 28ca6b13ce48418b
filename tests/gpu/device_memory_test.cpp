// SPDX-License-Identifier: Apache-2.0
// One rank: buffers of device, managed and pinned memory are taken, also through host memory alone.
#include <cstdlib>
#include <span>
#include <vector>

#include <sinew/error.hpp>
#include <sinew/world.hpp>

#include "tests/gpu/gpu_or_skip.hpp"

namespace {

constexpr std::size_t count = 1 << 20;

/// The buffer keeps its values in an allreduce of one rank.
bool is_taken(sinew::Communicator& comm, float* data, char const* what, char const* algorithm) {
    std::vector<float> values(count), got(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 977);
    cudaMemcpy(data, values.data(), count * sizeof(float), cudaMemcpyDefault);
    try {
        comm.allreduce(std::span(data, count), sinew::sum, {.algorithm = algorithm});
    } catch (sinew::Error const& error) {
        std::cout << error.what() << '\n';
        return sinew::tests::expect(false, what);
    }
    cudaMemcpy(got.data(), data, count * sizeof(float), cudaMemcpyDefault);
    return sinew::tests::expect(got == values, what);
}

}  // namespace

int main(int argc, char** argv) {
    sinew::tests::need_gpu();
    float *device = nullptr, *managed = nullptr, *pinned = nullptr;
    auto const bytes = count * sizeof(float);
    bool good = sinew::tests::expect(
        cudaMalloc(reinterpret_cast<void**>(&device), bytes) == cudaSuccess &&
            cudaMallocManaged(reinterpret_cast<void**>(&managed), bytes) == cudaSuccess &&
            cudaMallocHost(reinterpret_cast<void**>(&pinned), bytes) == cudaSuccess,
        "memory of three kinds");
    if (!good) return 1;
    sinew::World world(argc, argv);
    sinew::Communicator& comm = world.communicator();
    good &= is_taken(comm, device, "device memory", "");
    good &= is_taken(comm, device, "device memory, through host memory", "staged");
    good &= is_taken(comm, managed, "managed memory", "");
    good &= is_taken(comm, pinned, "pinned memory", "");
    return good ? 0 : 1;
}
