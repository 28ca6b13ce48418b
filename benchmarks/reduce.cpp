// SPDX-License-Identifier: Apache-2.0
// Compares the throughput of the reduction kernels with a plain loop, alternating. See --help.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <sinew/world.hpp>

#include "benchmarks/reduce/contestants.hpp"
#include "benchmarks/support/flags.hpp"
#include "benchmarks/support/program.hpp"
#include "benchmarks/support/sizes.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/text.hpp"

namespace po = boost::program_options;

namespace sinew::bench {
namespace {

constexpr char const* usage = R"(reduce [flags]: throughput of the reduction kernels on one core.

  --op LIST       sum, prod, min, max, bit_and, logical_and, ...   (sum)
  --dtype LIST    f32, f64, f16, bf16, c64, i8, i32, ...           (f32)
  --sizes LIST    bytes of one input: 8,16K,1M or 8-64M            (8,128,4K,16K,256K,4M,64M)
  --inputs N      how many inputs are combined, 2 to 8             (2)
  --target LIST   instruction sets of our kernels, or all          (the best)
  --offset N      bytes by which all buffers miss a cache line     (16, as malloc's large ones do)
  --in-place      the result goes into the first input
  --rounds N      how often ours and the loop are timed, in turns  (31)

GB/s counts what is read and written. `ratio` is the time of the plain loop (-O3 -march=native,
input after input) over ours, median of the rounds; above 1 ours is faster.
)";

struct Options {
    std::vector<std::string> ops, dtypes, targets;
    std::vector<std::size_t> sizes;
    int inputs = 2, offset = 16, rounds = 31;
    bool in_place = false;
};

struct Call {
    Combine combine;
    void* out;
    std::vector<void const*> in;
    std::size_t count;
};

/// Input and output buffers. Their bytes are ordinary numbers in every type.
class Buffers {
public:
    Buffers(Options const& options, DataType type, std::size_t count) {
        std::size_t const bytes = count * type.size();
        auto const offset = static_cast<std::size_t>(options.offset);
        for (int k = 0; k <= options.inputs; ++k) {
            all_.emplace_back(bytes + offset + 64);
            void* start = all_.back().data();
            std::size_t space = all_.back().size();
            start = static_cast<std::byte*>(std::align(64, bytes + offset, start, space)) + offset;
            std::fill_n(static_cast<std::byte*>(start), bytes, std::byte{0x3c});
            starts_.push_back(start);
        }
        if (options.in_place) starts_.back() = starts_.front();
    }
    void* out() const { return starts_.back(); }
    std::vector<void const*> in() const { return {starts_.begin(), starts_.end() - 1}; }

private:
    std::vector<std::vector<std::byte>> all_;
    std::vector<void*> starts_;
};

double nanoseconds(Call const& call, long times) {
    auto const start = std::chrono::steady_clock::now();
    for (long i = 0; i < times; ++i) call.combine(call.out, call.in, call.count);
    std::chrono::duration<double, std::nano> const taken = std::chrono::steady_clock::now() - start;
    return taken.count() / static_cast<double>(times);
}

/// The number of calls that take a fifth of a millisecond. Finding it also warms up.
long calls_per_turn(Call const& call) {
    long times = 1;
    while (nanoseconds(call, times) * static_cast<double>(times) < 2e5) times *= 2;
    return times;
}

struct Column {
    double ns;
    double gigabytes_per_second;
};

Column column(std::vector<double> const& samples, double bytes) {
    double const ns = median(samples);
    return {ns, bytes / ns};
}

void print_row(std::string const& name, std::size_t size, Call const& ours, Call const& plain,
               int rounds, double bytes) {
    long const times = calls_per_turn(ours);
    long const plain_times = plain.combine ? calls_per_turn(plain) : 0;
    std::vector<double> our_ns, plain_ns;
    for (int round = 0; round < rounds; ++round) {
        our_ns.push_back(nanoseconds(ours, times));
        if (plain.combine) plain_ns.push_back(nanoseconds(plain, plain_times));
    }
    Column const us = column(our_ns, bytes);
    std::cout << std::left << std::setw(26) << name << std::right << std::setw(6)
              << format_size(size) << std::fixed << std::setprecision(1) << std::setw(12) << us.ns
              << std::setw(9) << us.gigabytes_per_second;
    if (!plain_ns.empty()) {
        Column const loop = column(plain_ns, bytes);
        std::cout << std::setw(12) << loop.ns << std::setw(9) << loop.gigabytes_per_second
                  << std::setprecision(2) << std::setw(8) << median(ratios(plain_ns, our_ns));
    }
    std::cout << std::endl;
}

void measure(Options const& options, std::string const& target, ReduceOp const& op, DataType type) {
    for (std::size_t const size : options.sizes) {
        std::size_t const count = std::max<std::size_t>(1, size / type.size());
        Buffers const buffers(options, type, count);
        Call const ours{our_kernel(target, op, type), buffers.out(), buffers.in(), count};
        Call const plain{plain_loop(op, type), buffers.out(), buffers.in(), count};
        auto const bytes = static_cast<double>(count * type.size()) * (options.inputs + 1);
        print_row(text(op.name(), " ", type.name(), " ", target), size, ours, plain, options.rounds,
                  bytes);
    }
}

Options parse(int argc, char** argv) {
    po::options_description flags;
    std::string ops, dtypes, sizes, targets;
    Options options;
    // clang-format off
    flags.add_options()
        ("op", po::value(&ops)->default_value("sum"))
        ("dtype", po::value(&dtypes)->default_value("f32"))
        ("sizes", po::value(&sizes)->default_value("8,128,4K,16K,256K,4M,64M"))
        ("target", po::value(&targets)->default_value(kernel_targets().front()))
        ("inputs", po::value(&options.inputs))
        ("offset", po::value(&options.offset))
        ("rounds", po::value(&options.rounds))
        ("in-place", po::bool_switch(&options.in_place))
        ("help,h", "");
    // clang-format on
    if (parse_flags(argc, argv, flags).count("help")) return {};
    require_within("inputs", options.inputs, 2, 8);
    require_within("offset", options.offset, 0, 4096);
    require_rounds(options.rounds);
    options.ops = split(ops, ',');
    options.dtypes = split(dtypes, ',');
    options.sizes = parse_sizes(sizes);
    options.targets = targets == "all" ? kernel_targets() : split(targets, ',');
    return options;
}

int run(int argc, char** argv) {
    Options const options = parse(argc, argv);
    if (options.ops.empty()) {
        std::cout << usage;
        return 0;
    }
    World const world;
    if (world.rank() != 0) return 0;  // only one core is measured, whatever the number of ranks
    std::cout << "# " << options.inputs << " inputs, " << options.offset << " bytes off a line, "
              << (options.in_place ? "in place" : "out of place") << "\n"
              << std::left << std::setw(26) << "kernel" << std::right << std::setw(6) << "bytes"
              << std::setw(12) << "ns" << std::setw(9) << "GB/s" << std::setw(12) << "loop ns"
              << std::setw(9) << "GB/s" << std::setw(8) << "ratio" << std::endl;
    for (std::string const& target : options.targets)
        for (std::string const& op : options.ops)
            for (std::string const& dtype : options.dtypes)
                measure(options, target, parse_reduce_op(op), parse_data_type(dtype));
    return 0;
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    return sinew::bench::run_program("reduce", sinew::bench::run, argc, argv);
}
