// SPDX-License-Identifier: Apache-2.0
// A step of training after the backward pass, for gradients on a GPU, as one CUDA graph. See --help.
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sinew/world.hpp>
#include <span>

#include "benchmarks/support/flags.hpp"
#include "benchmarks/support/gpu/gpu.hpp"
#include "benchmarks/support/gpu/stream_timer.hpp"
#include "benchmarks/support/program.hpp"
#include "benchmarks/support/statistics.hpp"

namespace po = boost::program_options;

namespace sinew::bench {
namespace {

constexpr char const* usage =
    R"(device_step [flags]: flatten to bf16, allreduce, SGD with momentum, for gradients on a GPU.

  --tensors N    tensors of equal size  (300)
  --mib N        of all gradients, f32  (4)
  --rounds N     how often each way is timed, in turns  (200)
  --json FILE    write the figures as JSON

Three ways of the same step: one CUDA graph that is launched; the three calls enqueued one by one; the
two kernels without the allreduce. `host` is the time in which the program has enqueued the step,
`device` the time from the step's beginning to its end on the GPU. Medians. A rank of its own measures
what a step costs a program, not what NCCL does between GPUs.
)";

struct Options {
    int tensors = 300, mib = 4, rounds = 200;
    std::string json;
    bool help = false;
};

/// Tensors of gradients and parameters on the GPU, and a step that combines them.
class Model {
public:
    Model(Communicator& comm, Options const& options) : comm_(comm) {
        auto const tensors = static_cast<std::size_t>(options.tensors);
        std::size_t const all = (static_cast<std::size_t>(options.mib) << 20) / sizeof(float);
        std::size_t const each = all / tensors / 4 * 4;
        count_ = each * tensors;
        auto* const gradients = allocate<float>(count_);
        auto* const parameters = allocate<float>(count_);
        auto* const momentum = allocate<float>(count_);
        bucket_ = allocate<bfloat16>(count_);
        std::vector<sgd::TensorPlace> of_gradients, of_parameters;
        for (std::size_t i = 0; i < tensors; ++i) {
            std::size_t const at = i * each;
            of_gradients.push_back({address(gradients + at), at, each, sizeof(float)});
            of_parameters.push_back(
                {address(parameters + at), at, each, sizeof(float), address(momentum + at)});
        }
        auto const segments = sgd::segments_of(of_gradients);
        auto const steps = sgd::sgd_segments_of(of_parameters);
        flatten_ = {bucket_,
                    on_gpu(segments),
                    segments.size(),
                    sgd::FloatFormat::f32,
                    sgd::FloatFormat::bf16,
                    1.0f};
        sgd_ = {bucket_, on_gpu(steps), steps.size(), sgd::FloatFormat::bf16, 1.0f, 1e-6f, 0.9f, 0,
                0};
        sgd_.scale = 1.0f / static_cast<float>(comm.size());
    }

    void enqueue_kernels() {
        gpu_.kernels().flatten(flatten_, gpu_.stream());
        gpu_.kernels().sgd(sgd_, gpu_.stream());
    }
    void enqueue() {
        gpu_.kernels().flatten(flatten_, gpu_.stream());
        comm_.allreduce(std::span(bucket_, count_), sum, {.stream = stream()});
        gpu_.kernels().sgd(sgd_, gpu_.stream());
    }
    cudaStream_t stream() { return gpu_.stream(); }

private:
    template <class T>
    T* allocate(std::size_t count) {
        auto* const memory = static_cast<T*>(gpu_.allocate(count * sizeof(T)));
        check_cuda(cudaMemset(memory, 0, count * sizeof(T)), "cudaMemset");
        return memory;
    }
    template <class T>
    T const* on_gpu(std::vector<T> const& list) {
        auto* const memory = static_cast<T*>(gpu_.allocate(list.size() * sizeof(T)));
        gpu_.write(memory, list.data(), list.size() * sizeof(T));
        return memory;
    }
    static std::uint64_t address(void const* pointer) {
        return reinterpret_cast<std::uint64_t>(pointer);
    }

    Communicator& comm_;
    Gpu gpu_;
    std::size_t count_ = 0;
    bfloat16* bucket_ = nullptr;
    sgd::SegmentCopy flatten_;
    sgd::SgdStep sgd_;
};

/// A step that was captured.
class Graph {
public:
    explicit Graph(Model& model) : stream_(model.stream()) {
        check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
                   "cudaStreamBeginCapture");
        model.enqueue();
        check_cuda(cudaStreamEndCapture(stream_, &graph_), "cudaStreamEndCapture");
        check_cuda(cudaGraphInstantiate(&runnable_, graph_, 0), "cudaGraphInstantiate");
    }
    Graph(Graph const&) = delete;
    ~Graph() {
        cudaGraphExecDestroy(runnable_);
        cudaGraphDestroy(graph_);
    }
    void launch() const { check_cuda(cudaGraphLaunch(runnable_, stream_), "cudaGraphLaunch"); }

private:
    cudaStream_t stream_;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t runnable_ = nullptr;
};

struct Way {
    char const* name;
    std::function<void()> enqueue;
    std::vector<double> host = {}, device = {};  ///< microseconds
};

Options parse(int argc, char** argv) {
    po::options_description flags;
    Options options;
    // clang-format off
    flags.add_options()
        ("tensors", po::value(&options.tensors))
        ("mib", po::value(&options.mib))
        ("rounds", po::value(&options.rounds))
        ("json", po::value(&options.json))
        ("help,h", "");
    // clang-format on
    options.help = parse_flags(argc, argv, flags).count("help") > 0;
    require_within("tensors", options.tensors, 1, 100'000);
    require_within("mib", options.mib, 1, 4096);
    require_rounds(options.rounds);
    return options;
}

int run(int argc, char** argv) {
    Options const options = parse(argc, argv);
    if (options.help) {
        std::cout << usage;
        return 0;
    }
    require_gpu();
    World world;
    Communicator& comm = world.communicator();
    Model model(comm, options);
    model.enqueue();  // the first call on the memory of a GPU connects
    check_cuda(cudaStreamSynchronize(model.stream()), "cudaStreamSynchronize");
    Graph const graph(model);
    Way ways[] = {{"graph", [&] { graph.launch(); }},
                  {"calls", [&] { model.enqueue(); }},
                  {"kernels alone", [&] { model.enqueue_kernels(); }}};
    StreamTimer const timer;
    for (int round = -10; round < options.rounds; ++round)
        for (Way& way : ways) {
            double host = 0;
            double const device = timer.seconds(model.stream(), [&] {
                auto const start = std::chrono::steady_clock::now();
                way.enqueue();
                host =
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            });
            if (round < 0) continue;  // the first ones warm up
            way.host.push_back(host * 1e6);
            way.device.push_back(device * 1e6);
        }
    nlohmann::json figures{{"tensors", options.tensors}, {"mib", options.mib}};
    for (Way const& way : ways) {
        if (world.rank() == 0)
            std::printf("%-14s host %7.1f us (p90 %.1f)   device %7.1f us\n", way.name,
                        median(way.host), percentiles(way.host).p90, median(way.device));
        figures["ways"].push_back({{"name", way.name},
                                   {"host_microseconds", median(way.host)},
                                   {"device_microseconds", median(way.device)}});
    }
    if (world.rank() == 0 && !options.json.empty())
        write_file(options.json, figures.dump(2) + '\n');
    return 0;
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    return sinew::bench::run_program("device_step", sinew::bench::run, argc, argv);
}
