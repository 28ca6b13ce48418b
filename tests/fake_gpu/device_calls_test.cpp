// SPDX-License-Identifier: Apache-2.0
// Calls on the memory of (fake) GPUs give what the same calls on host memory give, through NCCL and
// through host memory; and in the order of streams, also replayed as graphs.
#include <atomic>
#include <chrono>
#include <complex>
#include <numeric>
#include <thread>

#include "tests/comm/ranks.hpp"
#include "tests/fake_gpu/fake_gpu.hpp"

namespace sinew::tests {
namespace {

using testing::HasSubstr;
using Counts = std::vector<std::size_t>;

/// Runs `body` on threads with a GPU each, first through NCCL, then through host memory.
void on_gpus(int ranks, std::function<void(Communicator&)> const& body) {
    use_fake_nccl();
    for (char const* const nccl : {"1", "0"}) {
        SCOPED_TRACE(std::string("SINEW_NCCL=") + nccl);
        Variable const wanted("SINEW_NCCL", nccl);
        run_thread_ranks(ranks, [&](Communicator& comm) {
            fake_cuda_use_device(comm.rank());
            body(comm);
        });
        EXPECT_EQ(fake_nccl_alive(), 0);
    }
}

/// Small integers, so that every order of a sum gives the same.
template <class T>
std::vector<T> numbers(std::size_t count, int rank) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<T>(
            static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 3) % 5 + 1));
    return values;
}

template <class T>
void expect_same(std::vector<T> const& got, std::vector<T> const& wanted, char const* what) {
    ASSERT_EQ(got.size(), wanted.size()) << what;
    if (got.empty()) return;
    EXPECT_EQ(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(T)), 0) << what;
}

/// Makes a call on host memory and on a GPU's, and compares the outputs.
template <class T, class Call>
void compare(std::vector<T> in, std::vector<T> out, char const* what, Call const& call) {
    DeviceArray<T> device_in(in), device_out(out);
    call(Buffer(std::span<T>(in)), Buffer(std::span<T>(out)));
    call(Buffer(device_in.span()), Buffer(device_out.span()));
    expect_same(device_in.values(), in, what);
    expect_same(device_out.values(), out, what);
}
/// The same for a call with one buffer; the first `counts` elements of the result.
template <class T, class Call>
void compare_in_place(std::vector<T> data, std::size_t counts, char const* what, Call const& call) {
    DeviceArray<T> device(data);
    call(Buffer(std::span<T>(data)));
    call(Buffer(device.span()));
    auto got = device.values();
    got.resize(counts);
    data.resize(counts);
    expect_same(got, data, what);
}

template <class T>
void reductions(Communicator& comm, std::size_t count, ReduceOp const& op) {
    int const rank = comm.rank(), last = comm.size() - 1;
    auto const n = static_cast<std::size_t>(comm.size());
    auto const in = numbers<T>(count, rank);
    std::vector<T> const out(count, static_cast<T>(9.0F));
    compare<T>(in, out, "allreduce", [&](Buffer a, Buffer b) { comm.allreduce(a, b, op); });
    compare_in_place<T>(in, count, "allreduce in place", [&](Buffer a) { comm.allreduce(a, op); });
    compare<T>(in, out, "reduce", [&](Buffer a, Buffer b) { comm.reduce(a, b, op, last); });
    compare_in_place<T>(in, rank == 0 ? count : 0, "reduce in place",
                        [&](Buffer a) { comm.reduce(a, op, 0); });
    compare<T>(in, out, "scan", [&](Buffer a, Buffer b) { comm.scan(a, b, op); });
    compare<T>(in, out, "exscan", [&](Buffer a, Buffer b) { comm.exscan(a, b, op); });
    auto const whole = numbers<T>(count * n, rank);
    compare<T>(whole, out, "reduce_scatter_block",
               [&](Buffer a, Buffer b) { comm.reduce_scatter_block(a, b, op); });
    compare_in_place<T>(whole, count, "reduce_scatter_block in place",
                        [&](Buffer a) { comm.reduce_scatter_block(a, op); });
    Counts counts(n, count);
    counts[0] = 0;
    counts[n - 1] = 2 * count;
    if (n == 1) counts[0] = count;
    auto const own = counts[static_cast<std::size_t>(rank)];
    auto const total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    compare<T>(numbers<T>(total, rank), std::vector<T>(own), "reduce_scatter",
               [&](Buffer a, Buffer b) {
                   CallOptions options;
                   if (b.data == nullptr && a.count == 0) options.memory = Memory::detect;
                   comm.reduce_scatter(a, b, counts, op, options);
               });
    compare_in_place<T>(numbers<T>(total, rank), own, "reduce_scatter in place",
                        [&](Buffer a) { comm.reduce_scatter(a, counts, op); });
}

template <class T>
void movements(Communicator& comm, std::size_t count) {
    int const rank = comm.rank(), last = comm.size() - 1;
    auto const n = static_cast<std::size_t>(comm.size()), self = static_cast<std::size_t>(rank);
    auto const in = numbers<T>(count, rank);
    auto const whole = numbers<T>(count * n, rank);
    std::vector<T> const out(count), all(count * n);
    compare_in_place<T>(in, count, "broadcast", [&](Buffer a) { comm.broadcast(a, last); });
    compare<T>(in, all, "allgather", [&](Buffer a, Buffer b) { comm.allgather(a, b); });
    compare_in_place<T>(whole, count * n, "allgather in place",
                        [&](Buffer a) { comm.allgather(a); });
    compare<T>(in, all, "gather", [&](Buffer a, Buffer b) { comm.gather(a, b, last); });
    compare<T>(whole, out, "scatter", [&](Buffer a, Buffer b) { comm.scatter(a, b, last); });
    compare<T>(whole, all, "alltoall", [&](Buffer a, Buffer b) { comm.alltoall(a, b); });
    compare_in_place<T>(whole, count * n, "alltoall in place", [&](Buffer a) { comm.alltoall(a); });
    compare_in_place<T>(rank == last ? whole : in, rank == last ? count * n : count,
                        "gather in place", [&](Buffer a) { comm.gather(a, last); });
    compare_in_place<T>(rank == last ? whole : in, rank == last ? count * n : count,
                        "scatter in place", [&](Buffer a) { comm.scatter(a, last); });
    // Rank r's part has r + 1 times as many elements, one apart from the next.
    Counts counts(n), offsets(n);
    for (std::size_t r = 0, at = 0; r < n; ++r) {
        counts[r] = r * count;
        offsets[r] = at;
        at += counts[r] + 1;
    }
    std::size_t const room = offsets[n - 1] + counts[n - 1] + 1;
    Parts const parts(counts, offsets);
    auto const own = numbers<T>(counts[self], rank);
    compare<T>(own, std::vector<T>(room, static_cast<T>(7.0F)), "allgatherv",
               [&](Buffer a, Buffer b) { comm.allgatherv(a, b, parts); });
    compare_in_place<T>(numbers<T>(room, rank), room, "allgatherv in place",
                        [&](Buffer a) { comm.allgatherv(a, parts); });
    compare<T>(own, std::vector<T>(room, static_cast<T>(7.0F)), "gatherv",
               [&](Buffer a, Buffer b) { comm.gatherv(a, b, parts, 0); });
    compare<T>(numbers<T>(room, rank), std::vector<T>(counts[self]), "scatterv",
               [&](Buffer a, Buffer b) { comm.scatterv(a, b, parts, 0); });
    Counts sent(n), received(n);  // rank r sends r + q elements to rank q
    for (std::size_t r = 0; r < n; ++r) sent[r] = received[r] = (self + r) * count;
    auto const sum_of = [](Counts const& c) {
        return std::accumulate(c.begin(), c.end(), std::size_t{0});
    };
    compare<T>(numbers<T>(sum_of(sent), rank), std::vector<T>(sum_of(received)), "alltoallv",
               [&](Buffer a, Buffer b) { comm.alltoallv(a, sent, b, received); });
}

TEST(DeviceCalls, GiveWhatTheHostGives) {
    for (int const ranks : {1, 2, 3, 4}) {
        SCOPED_TRACE(ranks);
        on_gpus(ranks, [](Communicator& comm) {
            for (std::size_t const count : {std::size_t{1}, std::size_t{1000}}) {
                reductions<float>(comm, count, sum);
                movements<float>(comm, count);
            }
            comm.barrier();
        });
    }
}

TEST(DeviceCalls, KnowAllTypesAndOperations) {
    on_gpus(3, [](Communicator& comm) {
        auto const with = [&]<class T>(T) {
            for (auto const& op : {sum, prod, min, max}) reductions<T>(comm, 5, op);
            movements<T>(comm, 3);
        };
        with(std::int8_t{});
        with(std::uint8_t{});
        with(std::int16_t{});  // NCCL has none: passes through the host
        with(std::int32_t{});
        with(std::uint32_t{});
        with(std::int64_t{});
        with(std::uint64_t{});
        with(double{});
        with(float16{});
        with(bfloat16{});
        reductions<std::complex<float>>(comm, 4, sum);
        reductions<std::complex<double>>(comm, 4, prod);
        reductions<std::int32_t>(comm, 4, bit_xor);
        reductions<std::int32_t>(
            comm, 4,
            reduce_op<std::int32_t>([](int a, int b) { return a + 2 * b; }, Commutative::no));
    });
    on_gpus(4, [](Communicator& comm) {  // a quarter is exact
        reductions<float>(comm, 6, average);
        reductions<double>(comm, 6, average);
        reductions<bfloat16>(comm, 6, average);
        reductions<float16>(comm, 6, average);
        reductions<std::complex<float>>(comm, 6, average);
    });
}

TEST(DeviceCalls, MayBeLongerThanAChunk) {
    on_gpus(2, [](Communicator& comm) {
        constexpr std::size_t count = (std::size_t{9} << 20) / sizeof(float) + 6;  // five chunks
        auto const in = numbers<float>(count, comm.rank());
        compare_in_place<float>(in, count, "allreduce in place",
                                [&](Buffer a) { comm.allreduce(a, sum); });
        compare_in_place<float>(in, count / 2, "reduce_scatter_block in place",
                                [&](Buffer a) { comm.reduce_scatter_block(a, sum); });
        compare<float>(in, std::vector<float>(count), "alltoall",
                       [&](Buffer a, Buffer b) { comm.alltoall(a, b); });
        auto const part = numbers<float>(count / 2, comm.rank());
        compare<float>(part, std::vector<float>(count), "allgather",
                       [&](Buffer a, Buffer b) { comm.allgather(a, b); });
    });
}

TEST(DeviceCalls, MayBeEmptyOnSomeRanks) {
    on_gpus(3, [](Communicator& comm) {
        Counts const counts{0, 2, 3};
        auto const own = counts[static_cast<std::size_t>(comm.rank())];
        DeviceArray<int> const all(5), mine(numbers<int>(own, comm.rank()));
        // A null pointer tells nothing, so the call must.
        Buffer const none{nullptr, 0, DataType::Kind::i32};
        CallOptions const device{.memory = Memory::device};
        comm.gatherv(comm.rank() == 0 ? none : Buffer(mine.span()),
                     comm.rank() == 2 ? Buffer(all.span()) : none, counts, 2, device);
        if (comm.rank() == 2) {
            EXPECT_EQ(all.values()[0], numbers<int>(2, 1)[0]);
        }
        comm.allgatherv(mine.span(), all.span(), counts);
        EXPECT_EQ(all.values()[4], numbers<int>(3, 2)[2]);
        comm.allreduce(none, sum);
    });
}

TEST(DeviceCalls, MayBeNonBlocking) {
    on_gpus(3, [](Communicator& comm) {
        std::vector<Request> requests;
        std::vector<std::unique_ptr<DeviceArray<float>>> arrays;
        for (int i = 0; i < 5; ++i) {
            arrays.push_back(std::make_unique<DeviceArray<float>>(1000, float(comm.rank() + i)));
            requests.push_back(comm.iallreduce(arrays.back()->span(), sum));
        }
        DeviceArray<float> last(10, 1.0F);
        comm.allreduce(last.span(), sum);  // after the others
        for (auto& request : requests) request.wait();
        for (int i = 0; i < 5; ++i)
            EXPECT_EQ(arrays[static_cast<std::size_t>(i)]->values()[999], float(3 + 3 * i));
        EXPECT_EQ(last.values()[0], 3.0F);
    });
}

/// Work for a stream that waits until it is allowed to go on, then stores a value on the device.
struct Delayed {
    std::atomic<bool> go{false};
    float* to = nullptr;
    float value = 0;
    static void run(void* given) {
        auto& self = *static_cast<Delayed*>(given);
        while (!self.go) std::this_thread::sleep_for(1ms);
        *static_cast<float*>(fake_cuda_shadow(self.to)) = self.value;
    }
};

TEST(Streams, OrderCallsAfterTheirEarlierWork) {
    use_fake_nccl();
    run_thread_ranks(2, [](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        DeviceArray<float> warm(1, 1.0F), data(1, 0.0F);
        comm.allreduce(warm.span(), sum);
        DeviceStream const stream;
        Delayed delayed;
        delayed.to = data.data();
        delayed.value = 5;
        stream.call(&Delayed::run, &delayed);
        comm.allreduce(data.span(), sum,
                       {.stream = stream});  // returns, though the data is not there yet
        Request later = comm.iallreduce(warm.span(), sum, {.stream = stream});
        EXPECT_FALSE(later.test());
        delayed.go = true;
        later.wait();
        EXPECT_EQ(stream.synchronize(), 0);
        EXPECT_EQ(data.values()[0], 10.0F);
        EXPECT_EQ(warm.values()[0], 4.0F);
    });
}

TEST(Streams, OrderCallsThroughTheHost) {
    use_fake_nccl();
    Variable const off("SINEW_NCCL", "0");
    run_thread_ranks(2, [](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        DeviceArray<float> data(1, 0.0F);
        DeviceStream const stream;
        Delayed delayed;
        delayed.to = data.data();
        delayed.value = 5;
        stream.call(&Delayed::run, &delayed);
        std::jthread const soon([&] {
            std::this_thread::sleep_for(20ms);
            delayed.go = true;
        });
        comm.allreduce(data.span(), sum, {.stream = stream});
        EXPECT_EQ(stream.synchronize(), 0);
        EXPECT_EQ(data.values()[0], 10.0F);
    });
}

/// Gives the stream work that begins soon and stores a value in `data`, and calls `call` meanwhile.
template <class Call>
void while_computing(DeviceStream const& stream, DeviceArray<float> const& data, float value,
                     Call const& call) {
    Delayed delayed;
    delayed.to = data.data();
    delayed.value = value;
    stream.call(&Delayed::run, &delayed);
    std::jthread const soon([&] {
        std::this_thread::sleep_for(20ms);
        delayed.go = true;
    });
    call();
}

TEST(Streams, MayComputeTheBuffersOfACall) {
    on_gpus(2, [](Communicator& comm) {
        DeviceArray<float> data(1, 0.0F), out(1, 0.0F);
        DeviceStream const stream;
        CallOptions const on{.after = stream};
        while_computing(stream, data, 5, [&] { comm.allreduce(data.span(), sum, on); });
        EXPECT_EQ(data.values()[0], 10.0F);  // the call has ended
        while_computing(stream, data, 3, [&] { comm.iallreduce(data.span(), sum, on).wait(); });
        EXPECT_EQ(data.values()[0], 6.0F);
        int const other = 1 - comm.rank();
        while_computing(stream, data, 7,
                        [&] { comm.sendrecv(data.span(), other, out.span(), other, 0, on); });
        EXPECT_EQ(out.values()[0], 7.0F);
        std::vector<float> host(1);
        while_computing(stream, data, 8, [&] {
            Request receive = comm.irecv(std::span(host), other, 0);
            comm.isend(data.span(), other, 0, on).wait();
            receive.wait();
        });
        EXPECT_EQ(host[0], 8.0F);
        EXPECT_THAT(thrown_by<UsageError>([&] {
                        comm.send(data.span(), other, 0, {.stream = stream, .after = stream});
                    }),
                    HasSubstr("both stream and after"));
        EXPECT_THAT(thrown_by<UsageError>([&] { comm.send(host, other, 0, on); }),
                    HasSubstr("in host memory"));
        void* graph = nullptr;
        ASSERT_EQ(cuStreamBeginCapture_v2(stream, 1), 0);
        EXPECT_THAT(thrown_by<UsageError>([&] { comm.send(data.span(), other, 0, on); }),
                    HasSubstr("records a graph"));
        cuStreamEndCapture(stream, &graph);
        cuGraphDestroy(graph);
    });
}

TEST(Graphs, ReplayCalls) {
    use_fake_nccl();
    run_thread_ranks(3, [](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        DeviceArray<float> data(100, 1.0F), mean(10, float(comm.rank()));
        comm.allreduce(data.span(), sum);
        DeviceStream const stream;
        void *graph = nullptr, *runnable = nullptr;
        for (int const mode : {0, 1, 2}) {  // global, of the thread, relaxed
            comm.barrier();
            ASSERT_EQ(cuStreamBeginCapture_v2(stream, mode), 0);
            comm.allreduce(data.span(), sum, {.stream = stream});
            comm.allreduce(mean.span(), average, {.stream = stream});
            ASSERT_EQ(cuStreamEndCapture(stream, &graph), 0) << "mode " << mode;
            comm.barrier();
            EXPECT_EQ(data.values()[0], 3.0F) << "capturing does not run it";
            ASSERT_EQ(cuGraphInstantiateWithFlags(&runnable, graph, 0), 0);
            comm.barrier();
            if (mode == 2) break;
            cuGraphExecDestroy(runnable);
            cuGraphDestroy(graph);
        }
        for (int i = 0; i < 3; ++i) cuGraphLaunch(runnable, stream);
        EXPECT_EQ(stream.synchronize(), 0);
        EXPECT_EQ(data.values()[99], 81.0F);
        EXPECT_NEAR(mean.values()[0], 1.0F, 1e-5F);
        comm.barrier();
        cuGraphExecDestroy(runnable);
        cuGraphDestroy(graph);
    });
}

TEST(Graphs, RefuseWhatCannotBeCaptured) {
    use_fake_nccl();
    run_thread_ranks(2, [](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        DeviceArray<float> data(4, 1.0F);
        DeviceStream const stream;
        void* graph = nullptr;
        ASSERT_EQ(cuStreamBeginCapture_v2(stream, 1), 0);
        CallOptions const on{.stream = stream};
        EXPECT_THAT(thrown_by<UsageError>([&] { comm.allreduce(data.span(), sum, on); }),
                    HasSubstr("the first call on the memory of a GPU"));
        cuStreamEndCapture(stream, &graph);
        cuGraphDestroy(graph);
        comm.allreduce(data.span(), sum);
        ASSERT_EQ(cuStreamBeginCapture_v2(stream, 1), 0);
        EXPECT_THAT(thrown_by<UsageError>([&] { comm.scan(data.span(), sum, on); }),
                    HasSubstr("cannot be captured"));
        cuStreamEndCapture(stream, &graph);
        cuGraphDestroy(graph);
        EXPECT_EQ(comm.allreduce_value(1, sum), 2);
    });
}

TEST(DeviceMessages, PassThroughTheHost) {
    on_gpus(2, [](Communicator& comm) {
        int const other = 1 - comm.rank();
        DeviceArray<int> out(numbers<int>(1000, comm.rank())), in(1200);
        std::vector<int> host(1000);
        // GPU to GPU, GPU to host, host to GPU, and a message shorter than its buffer.
        EXPECT_EQ(comm.sendrecv(out.span(), other, in.span(), other, 3).count, 1000U);
        EXPECT_EQ(in.values()[999], numbers<int>(1000, other)[999]);
        EXPECT_EQ(in.values()[1000], 0);
        if (comm.rank() == 0) {
            comm.send(out.span(), 1, 4);
            comm.send(host, 1, 5);
        } else {
            comm.recv(host, any_source, 4);
            EXPECT_EQ(host, numbers<int>(1000, 0));
            Request receive = comm.irecv(in.span(), 0, 5);
            receive.wait();
            EXPECT_EQ(in.values()[999], 0);
        }
        Request receive = comm.irecv(in.span(), other, 6);
        comm.isend(out.span(), other, 6).wait();
        EXPECT_EQ(receive.wait().count, 1000U);
        EXPECT_EQ(in.values()[5], numbers<int>(1000, other)[5]);
    });
}

TEST(DeviceMessages, FollowAStream) {
    on_gpus(2, [](Communicator& comm) {
        int const other = 1 - comm.rank();
        DeviceArray<int> out(numbers<int>(100000, comm.rank())), in(100000);
        DeviceStream const stream;
        CallOptions const on{.stream = stream};
        EXPECT_THAT(thrown_by<UsageError>([&] { comm.send(out.span(), other, 0, on); }),
                    HasSubstr("Call a collective"));
        comm.allreduce(in.span(), sum);
        comm.sendrecv(out.span(), other, in.span(), other, 0, on);
        EXPECT_EQ(stream.synchronize(), 0);
        EXPECT_EQ(in.values(), numbers<int>(100000, other));
        EXPECT_THAT(thrown_by<UsageError>([&] { comm.isend(out.span(), other, 0, on); }),
                    HasSubstr("non-blocking"));
    });
}

TEST(Arguments, MustBeInOneKindOfMemory) {
    use_fake_nccl();
    Variable const check("SINEW_CHECK", "1");
    run_thread_ranks(2, [](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        DeviceArray<float> device(2);
        std::vector<float> host(2);
        EXPECT_THAT(
            thrown_by<UsageError>([&] { comm.allreduce(device.span(), std::span(host), sum); }),
            HasSubstr("out is in host memory"));
        DeviceStream const stream;
        EXPECT_THAT(thrown_by<UsageError>([&] { comm.allreduce(host, sum, {.stream = stream}); }),
                    HasSubstr("the buffers are in host memory"));
        EXPECT_THAT(thrown_by<UsageError>(
                        [&] { comm.allreduce(device.span(), bit_and, {.algorithm = "nccl"}); }),
                    HasSubstr("bit_and is not defined"));
        DeviceArray<int> integers(2);
        EXPECT_THAT(thrown_by<UsageError>(
                        [&] { comm.allreduce(integers.span(), bit_and, {.algorithm = "nccl"}); }),
                    HasSubstr("NCCL cannot perform it"));
        comm.allreduce(integers.span(), bit_and, {.algorithm = "staged"});
        fake_cuda_use_device(comm.rank() + 4);
        DeviceArray<int> elsewhere(2);
        EXPECT_THAT(thrown_by<UsageError>([&] { comm.allreduce(elsewhere.span(), sum); }),
                    HasSubstr("on another GPU"));
        EXPECT_EQ(comm.allreduce_value(1, sum), 2);
    });
}

// Without a comparison beforehand the two ranks would wait for each other on different media.
TEST(Mismatch, OfTheKindOfMemoryIsNamed) {
    use_fake_nccl();
    for (char const* const checked : {"1", "0"}) {
        Variable const check("SINEW_CHECK", checked);
        Variable const timeout("SINEW_TIMEOUT", "2s");
        std::atomic<int> named{0};
        try {
            run_thread_ranks(2, [&](Communicator& comm) {
                fake_cuda_use_device(comm.rank());
                DeviceArray<float> device(2);
                std::vector<float> host(2);
                comm.allreduce(device.span(), sum);
                try {
                    comm.allreduce(comm.rank() == 0 ? std::span<float>(host) : device.span(), sum);
                } catch (Error const& error) {
                    std::string const what = error.what();
                    if (what.find("rank 1 on ") != what.npos && what.find("on a GPU") != what.npos)
                        ++named;
                    else if (what.find("rank 0 on ") != what.npos) ++named;
                    throw;
                }
            });
            ADD_FAILURE() << "no error";
        } catch (Error const&) {}
        EXPECT_EQ(named, 2) << "SINEW_CHECK=" << checked;
    }
}

}  // namespace
}  // namespace sinew::tests
