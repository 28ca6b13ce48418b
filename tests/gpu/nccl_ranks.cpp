// SPDX-License-Identifier: Apache-2.0
// Two or three ranks on one GPU through NCCL give what the host gives.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <sinew/error.hpp>
#include <sinew/world.hpp>

#include "tests/gpu/gpu_or_skip.hpp"
#include "tests/gpu/nccl_on_one_gpu.hpp"

namespace {

using sinew::Buffer;
using sinew::Communicator;
using sinew::tests::expect;
using sinew::tests::OnDevice;

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
bool same(Communicator& comm, std::size_t count, std::string const& what,
          std::function<void(Buffer)> const& call) {
    auto host = numbers<T>(count, comm.rank());
    OnDevice<T> const device(host);
    call(std::span<T>(host));
    call(device.span());
    auto const got = device.values();
    return expect(
        std::equal(got.begin(), got.end(), host.begin(),
                   [](T a, T b) { return static_cast<float>(a) == static_cast<float>(b); }),
        what);
}

/// A call with two buffers.
template <class T>
bool same(Communicator& comm, std::size_t in, std::size_t out, std::string const& what,
          std::function<void(sinew::ConstBuffer, Buffer)> const& call) {
    auto const host_in = numbers<T>(in, comm.rank());
    std::vector<T> host_out(out);
    OnDevice<T> const device_in(host_in), device_out(host_out);
    call(std::span<T const>(host_in), std::span<T>(host_out));
    call(device_in.span(), device_out.span());
    auto const got = device_out.values();
    return expect(
        std::equal(got.begin(), got.end(), host_out.begin(),
                   [](T a, T b) { return static_cast<float>(a) == static_cast<float>(b); }),
        what);
}

template <class T>
bool all_calls(Communicator& comm, std::size_t count, std::string const& type) {
    auto const n = static_cast<std::size_t>(comm.size());
    auto const root = comm.size() - 1;
    bool const is_root = comm.rank() == root;
    std::vector<std::size_t> parts;  // of different lengths, one of them empty
    std::size_t all = 0;
    for (std::size_t r = 0; r < n; ++r) {
        parts.push_back(r == 1 ? 0 : count + r);
        all += parts.back();
    }
    std::size_t const own = parts[static_cast<std::size_t>(comm.rank())];
    bool good = true;
    for (auto const& op : {sinew::sum, sinew::prod, sinew::min, sinew::max}) {
        std::string const words = op.name() + ' ' + type;
        good &=
            same<T>(comm, count, "allreduce " + words, [&](Buffer b) { comm.allreduce(b, op); });
        good &= same<T>(comm, count, count, "allreduce, two buffers, " + words,
                        [&](auto in, Buffer out) { comm.allreduce(in, out, op); });
        good &= same<T>(comm, count * n, count, "reduce_scatter_block " + words,
                        [&](auto in, Buffer out) { comm.reduce_scatter_block(in, out, op); });
        good &= same<T>(comm, count, is_root ? count : 0, "reduce " + words,
                        [&](auto in, Buffer out) { comm.reduce(in, out, op, root); });
        good &= same<T>(comm, all, own, "reduce_scatter " + words,
                        [&](auto in, Buffer out) { comm.reduce_scatter(in, out, parts, op); });
    }
    good &= same<T>(comm, count, "broadcast " + type, [&](Buffer b) { comm.broadcast(b, 1); });
    good &= same<T>(comm, count * n, "allgather " + type, [&](Buffer b) { comm.allgather(b); });
    good &= same<T>(comm, own, all, "allgatherv " + type,
                    [&](auto in, Buffer out) { comm.allgatherv(in, out, parts); });
    good &= same<T>(comm, count, is_root ? count * n : 0, "gather " + type,
                    [&](auto in, Buffer out) { comm.gather(in, out, root); });
    good &= same<T>(comm, own, is_root ? all : 0, "gatherv " + type,
                    [&](auto in, Buffer out) { comm.gatherv(in, out, parts, root); });
    good &= same<T>(comm, is_root ? count * n : 0, count, "scatter " + type,
                    [&](auto in, Buffer out) { comm.scatter(in, out, root); });
    good &= same<T>(comm, is_root ? all : 0, own, "scatterv " + type,
                    [&](auto in, Buffer out) { comm.scatterv(in, out, parts, root); });
    good &= same<T>(comm, count * n, "alltoall " + type, [&](Buffer b) { comm.alltoall(b); });
    good &= same<T>(comm, count * n, count * n, "alltoall, two buffers, " + type,
                    [&](auto in, Buffer out) { comm.alltoall(in, out); });
    good &= same<T>(comm, count, "iallreduce " + type,
                    [&](Buffer b) { comm.iallreduce(b, sinew::sum).wait(); });
    return good;
}

/// Real numbers beside their sum in f64; `step` is the distance of neighbouring numbers at 1.
template <class T>
bool sums_are_near(Communicator& comm, double step, std::string const& type) {
    constexpr std::size_t count = 100'003;
    std::vector<double> exact(count);
    std::vector<T> own;
    for (int rank = 0; rank < comm.size(); ++rank) {
        std::mt19937 random(static_cast<unsigned>(rank) + 77);
        std::normal_distribution<float> normal;
        for (std::size_t i = 0; i < count; ++i) {
            T const value = static_cast<T>(normal(random));
            exact[i] += static_cast<double>(static_cast<float>(value));
            if (rank == comm.rank()) own.push_back(value);
        }
    }
    OnDevice<T> const device(own);
    comm.allreduce(device.span(), sinew::sum);
    auto const once = device.values();
    double worst = 0;
    for (std::size_t i = 0; i < count; ++i)
        worst =
            std::max(worst, std::abs(static_cast<double>(static_cast<float>(once[i])) - exact[i]));
    // Each of at most two additions rounds a sum that is below 16.
    bool good = expect(worst <= 16 * step, "sum of real numbers, " + type);
    OnDevice<T> const again(own);
    comm.allreduce(again.span(), sinew::sum);
    auto const twice = again.values();
    return expect(std::memcmp(once.data(), twice.data(), count * sizeof(T)) == 0,
                  "the same bits again, " + type) &&
           good;
}

bool average_is_near(Communicator& comm) {
    std::vector<float> const values(1000, static_cast<float>(comm.rank() + 1));
    OnDevice<float> const device(values);
    comm.allreduce(device.span(), sinew::average);
    double const exact = (comm.size() + 1) / 2.0;
    return expect(std::abs(device.values()[999] - exact) < 1e-6 * exact, "average f32");
}

bool messages_pass(Communicator& comm) {
    int const next = (comm.rank() + 1) % comm.size();
    int const before = (comm.rank() + comm.size() - 1) % comm.size();
    OnDevice<float> const sent(numbers<float>(50'000, comm.rank()));
    OnDevice<float> const got(std::vector<float>(50'000));
    cudaStream_t stream = nullptr;
    cudaStreamCreate(&stream);
    auto send = comm.isend(sent.span(), next, 5);
    auto receive = comm.irecv(got.span(), before, 5);
    send.wait();
    receive.wait();
    bool good = expect(got.values() == numbers<float>(50'000, before), "a message");
    // In the order of a stream one of the ranks must begin by receiving.
    OnDevice<float> const ordered(std::vector<float>(50'000));
    sinew::CallOptions options;
    options.stream = stream;
    if (comm.rank() == 0) comm.send(sent.span(), next, 6, options);
    comm.recv(ordered.span(), before, 6, options);
    if (comm.rank() != 0) comm.send(sent.span(), next, 6, options);
    good &= expect(cudaStreamSynchronize(stream) == cudaSuccess &&
                       ordered.values() == numbers<float>(50'000, before),
                   "a message in the order of a stream");
    cudaStreamDestroy(stream);
    return good;
}

bool graph_replays(Communicator& comm) {
    OnDevice<float> const data(std::vector<float>(1000, 1.0F));
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

/// Communicators that a split makes connect by themselves.
bool split_calls(Communicator& comm) {
    Communicator part = comm.split(comm.rank() == 0 ? 0 : 1);
    OnDevice<std::int64_t> const data(std::vector<std::int64_t>(1000, comm.rank()));
    part.allreduce(data.span(), sinew::sum);
    std::int64_t const others = comm.size() == 3 ? 3 : 1;
    return expect(data.values()[999] == (comm.rank() == 0 ? 0 : others), "a split");
}

}  // namespace

int main(int argc, char** argv) {
    sinew::tests::need_gpu();
    sinew::tests::use_nccl_on_one_gpu();
    try {
        sinew::World world(argc, argv);
        Communicator& comm = world.communicator();
        bool good = true;
        for (std::size_t const count : {std::size_t{1}, std::size_t{100003}}) {
            good &= all_calls<float>(comm, count, "f32");
            good &= all_calls<double>(comm, count, "f64");
            good &= all_calls<sinew::bfloat16>(comm, count, "bf16");
            good &= all_calls<sinew::float16>(comm, count, "f16");
            good &= all_calls<std::int8_t>(comm, count, "i8");
            good &= all_calls<std::uint8_t>(comm, count, "u8");
            good &= all_calls<std::int32_t>(comm, count, "i32");
            good &= all_calls<std::uint32_t>(comm, count, "u32");
            good &= all_calls<std::int64_t>(comm, count, "i64");
            good &= all_calls<std::uint64_t>(comm, count, "u64");
        }
        good &= sums_are_near<float>(comm, 0x1p-23, "f32");
        good &= sums_are_near<sinew::bfloat16>(comm, 0x1p-7, "bf16");
        good &= sums_are_near<sinew::float16>(comm, 0x1p-10, "f16");
        good &= average_is_near(comm);
        good &= messages_pass(comm);
        good &= split_calls(comm);
        good &= graph_replays(comm);
        return good ? 0 : 1;
    } catch (sinew::Error const& error) {
        expect(false, error.what());
        return 1;
    }
}
