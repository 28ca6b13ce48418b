// SPDX-License-Identifier: Apache-2.0
// Two or three ranks on one GPU through NCCL: each counts as a host of its own (NCCL_HOSTID) and they talk
// over sockets. NVIDIA does not support this; it shows that the calls are right, and nothing about time.
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <sinew/error.hpp>
#include <sinew/world.hpp>

#include "tests/gpu/gpu_or_skip.hpp"

namespace {

using sinew::tests::expect;

template <class T>
class OnDevice {
public:
    explicit OnDevice(std::vector<T> const& values) : count_(values.size()) {
        cudaMalloc(reinterpret_cast<void**>(&data_), count_ * sizeof(T));
        cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyDefault);
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

/// Small integers: every order of a sum gives the same bits.
template <class T>
std::vector<T> numbers(std::size_t count, int rank) {
    std::mt19937 random(static_cast<unsigned>(rank) + 1);
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(static_cast<float>(random() % 8));
    return values;
}

/// The same collective on host memory is the reference.
template <class T>
bool same(sinew::Communicator& comm, std::size_t count, std::string const& what,
          std::function<void(sinew::Buffer)> const& call) {
    auto host = numbers<T>(count, comm.rank());
    OnDevice<T> device(host);
    call(std::span<T>(host));
    call(device.span());
    auto const got = device.values();
    return expect(
        std::equal(got.begin(), got.end(), host.begin(),
                   [](T a, T b) { return static_cast<float>(a) == static_cast<float>(b); }),
        what);
}

template <class T>
bool all_calls(sinew::Communicator& comm, std::size_t count, std::string const& type) {
    auto const n = static_cast<std::size_t>(comm.size());
    bool good = true;
    for (auto const& op : {sinew::sum, sinew::min, sinew::max})
        good &= same<T>(comm, count, "allreduce " + op.name() + ' ' + type,
                        [&](sinew::Buffer b) { comm.allreduce(b, op); });
    good &=
        same<T>(comm, count, "broadcast " + type, [&](sinew::Buffer b) { comm.broadcast(b, 1); });
    good &=
        same<T>(comm, count * n, "allgather " + type, [&](sinew::Buffer b) { comm.allgather(b); });
    good &=
        same<T>(comm, count * n, "alltoall " + type, [&](sinew::Buffer b) { comm.alltoall(b); });
    return good;
}

bool average_is_near(sinew::Communicator& comm) {
    std::vector<float> values(1000, static_cast<float>(comm.rank() + 1));
    OnDevice<float> device(values);
    comm.allreduce(device.span(), sinew::average);
    double const exact = (comm.size() + 1) / 2.0;
    return expect(std::abs(device.values()[999] - exact) < 1e-6 * exact, "average f32");
}

bool graph_replays(sinew::Communicator& comm) {
    OnDevice<float> data(std::vector<float>(1000, 1.0F));
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    cudaStreamCreate(&stream);
    bool good = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
    comm.allreduce(data.span(), sinew::sum, {.stream = stream});
    good &= cudaStreamEndCapture(stream, &graph) == cudaSuccess &&
            cudaGraphInstantiate(&runnable, graph, 0) == cudaSuccess;
    for (int i = 0; good && i < 3; ++i) good &= cudaGraphLaunch(runnable, stream) == cudaSuccess;
    good &= cudaStreamSynchronize(stream) == cudaSuccess;
    good &= data.values()[999] == static_cast<float>(comm.size() * comm.size() * comm.size());
    comm.barrier();
    if (runnable != nullptr) cudaGraphExecDestroy(runnable);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return expect(good, "a captured allreduce replays");
}

}  // namespace

int main(int argc, char** argv) {
    sinew::tests::need_gpu();
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
    try {
        sinew::World world(argc, argv);
        sinew::Communicator& comm = world.communicator();
        bool good = true;
        for (std::size_t const count : {std::size_t{1}, std::size_t{100003}}) {
            good &= all_calls<float>(comm, count, "f32");
            good &= all_calls<double>(comm, count, "f64");
            good &= all_calls<std::int32_t>(comm, count, "i32");
            good &= all_calls<sinew::bfloat16>(comm, count, "bf16");
        }
        good &= average_is_near(comm);
        good &= graph_replays(comm);
        return good ? 0 : 1;
    } catch (sinew::Error const& error) {
        expect(false, error.what());
        return 1;
    }
}
