// SPDX-License-Identifier: Apache-2.0
// How many bytes per second the kernels read and write, beside a copy of the driver's. See --help.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "benchmarks/support/flags.hpp"
#include "benchmarks/support/gpu/gpu.hpp"
#include "benchmarks/support/gpu/stream_timer.hpp"
#include "benchmarks/support/program.hpp"
#include "benchmarks/support/statistics.hpp"

namespace po = boost::program_options;

namespace sinew::bench {
namespace {

using namespace sgd;

constexpr char const* usage =
    R"(device_kernels [flags]: what the kernels for gradients move per second, on one GPU.

  --elements N   f32 elements in each of the four buffers, which have 16 N bytes in all  (268435456)
  --json FILE    write the figures as JSON

A line for each kernel: the median time of 50 runs, the bytes that it reads and writes per second, and
how many percent that is of a copy by the driver of N elements. Kernel and copy take turns, so that both
meet the same clocks. For a GPU with little memory give a smaller N, at least 1000000; where the buffers
fit into the GPU's cache, the figures are those of the cache and of launches.
)";

constexpr int runs = 50;

struct Options {
    std::int64_t elements = std::int64_t{1} << 28;
    std::string json;
    bool help = false;
};

/// Buffers of one size, filled with numbers.
class Workbench {
public:
    explicit Workbench(std::size_t elements) : elements_(elements) {
        std::mt19937 random;
        std::normal_distribution<float> normal;
        std::vector<float> numbers(std::size_t{1} << 20);
        for (float& number : numbers) number = normal(random);
        for (float*& buffer : floats_) {
            buffer = static_cast<float*>(gpu_.allocate(elements * sizeof(float)));
            for (std::size_t i = 0; i < elements; i += numbers.size())
                gpu_.write(buffer + i, numbers.data(),
                           std::min(numbers.size(), elements - i) * sizeof(float));
        }
    }

    void measure(std::string const& name, double bytes, std::function<void()> const& work) {
        auto* const stream = gpu_.stream();
        auto const copy = [&] {
            check_cuda(cudaMemcpyAsync(floats_[3], floats_[2], elements_ * sizeof(float),
                                       cudaMemcpyDeviceToDevice, stream),
                       "cudaMemcpyAsync");
        };
        std::vector<double> ours, copies;
        for (int run = -3; run < runs; ++run) {  // the first ones warm up
            double const own = timer_.seconds(stream, work);
            double const other = timer_.seconds(stream, copy);
            if (run < 0) continue;
            ours.push_back(own);
            copies.push_back(other);
        }
        double const rate = bytes / median(ours);
        double const copy_rate =
            2.0 * sizeof(float) * static_cast<double>(elements_) / median(copies);
        results_.push_back({{"kernel", name},
                            {"elements", elements_},
                            {"bytes", bytes},
                            {"microseconds", median(ours) * 1e6},
                            {"bytes_per_second", rate},
                            {"copy_bytes_per_second", copy_rate},
                            {"of_copy", rate / copy_rate}});
        std::printf("%-34s %9.1f us %8.1f GB/s %6.1f %% of a copy\n", name.c_str(),
                    median(ours) * 1e6, rate / 1e9, 100 * rate / copy_rate);
    }

    void measure_tensors(std::size_t tensors, FloatFormat format) {
        std::vector<TensorPlace> places;
        std::size_t const each = elements_ / tensors / 4 * 4;
        for (std::size_t i = 0; i < tensors; ++i)
            places.push_back({reinterpret_cast<std::uint64_t>(floats_[0] + i * each), i * each,
                              each, sizeof(float),
                              reinterpret_cast<std::uint64_t>(floats_[2] + i * each)});
        auto const list = on_gpu(segments_of(places));
        SegmentCopy const copy{floats_[1], list.first, list.second, FloatFormat::f32, format, 0.5f};
        double const bytes = static_cast<double>(tensors * each) *
                             static_cast<double>(sizeof(float) + bytes_of(format));
        std::string const what =
            std::to_string(tensors) + " tensors, " + (format == FloatFormat::f32 ? "f32" : "bf16");
        measure("flatten " + what, bytes, [&] { kernels().flatten(copy, stream()); });
        measure("unflatten " + what, bytes, [&] { kernels().unflatten(copy, stream()); });
        auto const steps = on_gpu(sgd_segments_of(places));
        SgdStep const step{floats_[1], steps.first, steps.second, format, 0.5f, 1e-6f, 0.9f, 0, 0};
        measure("sgd " + what, bytes + static_cast<double>(tensors * each) * 12,
                [&] { kernels().sgd(step, stream()); });
    }

    void measure_sums() {
        for (FloatFormat const format : {FloatFormat::f32, FloatFormat::bf16}) {
            TwoSum const sum{floats_[0], floats_[1], floats_[2], elements_, format};
            measure(format == FloatFormat::f32 ? "add f32" : "add bf16",
                    3.0 * static_cast<double>(elements_ * bytes_of(format)),
                    [&] { kernels().add(sum, stream()); });
        }
    }

    void measure_blocks() {
        std::uint64_t const blocks = elements_ / block_elements;
        double const elements = static_cast<double>(blocks * block_elements);
        double const row = static_cast<double>(block_row_bytes(blocks));
        for (BlockFormat const format : {BlockFormat::fp8, BlockFormat::int8}) {
            std::string const name = format == BlockFormat::fp8 ? "fp8" : "int8";
            Quantisation const encode{floats_[1], floats_[0], floats_[2], 1, blocks, format};
            measure("quantise " + name + ", error feedback", elements * 12 + row,
                    [&] { kernels().quantise(encode, stream()); });
            Dequantisation const decode{floats_[0], floats_[1], 1, blocks, format, 0};
            measure("dequantise " + name, elements * 4 + row,
                    [&] { kernels().dequantise(decode, stream()); });
            constexpr std::uint64_t rows = 8;
            std::uint64_t const shard = blocks * 3 / rows;  // 8 rows of it fit into the buffer
            double const shard_row = static_cast<double>(block_row_bytes(shard));
            RowSum const sum{floats_[0], floats_[1], nullptr, rows, shard, format};
            measure("sum 8 rows " + name, shard_row * (rows + 1),
                    [&] { kernels().sum_rows(sum, stream()); });
        }
    }

    void measure_selection() {
        Selection call;
        call.values = floats_[0];
        call.count = elements_;
        call.k = static_cast<std::uint32_t>(std::max<std::size_t>(1, elements_ / 100));
        call.indices = reinterpret_cast<std::uint32_t*>(floats_[1]);
        call.selected = floats_[1] + call.k;
        auto const workspace = reinterpret_cast<CudaDriver::Address>(
            gpu_.allocate(DeviceKernels::selection_workspace_bytes(elements_)));
        // Three passes read the values. After the first run what is selected are zeros.
        measure("select 1 %", 12.0 * static_cast<double>(elements_) + 12.0 * call.k,
                [&] { kernels().select(call, workspace, stream()); });
    }

    nlohmann::json const& results() const { return results_; }

private:
    DeviceKernels const& kernels() { return gpu_.kernels(); }
    CudaDriver::Stream stream() { return gpu_.stream(); }
    template <class T>
    std::pair<T const*, std::uint64_t> on_gpu(std::vector<T> const& list) {
        auto* const memory = static_cast<T*>(gpu_.allocate(list.size() * sizeof(T)));
        gpu_.write(memory, list.data(), list.size() * sizeof(T));
        return {memory, list.size()};
    }

    Gpu gpu_;
    StreamTimer timer_;
    std::size_t elements_;
    std::array<float*, 4> floats_{};
    nlohmann::json results_ = nlohmann::json::array();
};

Options parse(int argc, char** argv) {
    po::options_description flags;
    Options options;
    // clang-format off
    flags.add_options()
        ("elements", po::value(&options.elements))
        ("json", po::value(&options.json))
        ("help,h", "");
    // clang-format on
    options.help = parse_flags(argc, argv, flags).count("help") > 0;
    // The kernel that selects numbers values in 32 bits.
    require_within("elements", options.elements, 1'000'000, (std::int64_t{1} << 32) - 1);
    return options;
}

int run(int argc, char** argv) {
    Options const options = parse(argc, argv);
    if (options.help) {
        std::cout << usage;
        return 0;
    }
    require_gpu();
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    Workbench bench(static_cast<std::size_t>(options.elements));
    for (std::size_t const tensors : {std::size_t{1}, std::size_t{300}, std::size_t{10'000}})
        for (FloatFormat const format : {FloatFormat::f32, FloatFormat::bf16})
            bench.measure_tensors(tensors, format);
    bench.measure_sums();
    bench.measure_blocks();
    bench.measure_selection();
    if (!options.json.empty())
        write_file(
            options.json,
            nlohmann::json{{"gpu", properties.name}, {"runs", runs}, {"results", bench.results()}}
                    .dump(2) +
                '\n');
    return 0;
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    return sinew::bench::run_program("device_kernels", sinew::bench::run, argc, argv);
}
