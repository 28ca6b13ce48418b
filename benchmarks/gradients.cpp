// SPDX-License-Identifier: Apache-2.0
// Times GradientBuckets beside allreduces of the same bytes, in turns. See --help.
#include <algorithm>
#include <chrono>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <sinew/sgd/gradient_buckets.hpp>
#include <sinew/world.hpp>
#include <thread>

#include "benchmarks/collectives/workload.hpp"
#include "benchmarks/peers/peer.hpp"
#include "benchmarks/support/flags.hpp"
#include "benchmarks/support/machine/autogroup.hpp"
#include "benchmarks/support/program.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/text.hpp"

namespace po = boost::program_options;

namespace sinew::bench {
namespace {

constexpr char const* usage =
    R"(gradients [flags]: GradientBuckets beside allreduces of the same bytes.

  --cases LIST   resnet50, small, wire, overlap                     (all)
  --peer LIST    openmpi, mpich, gloo: allreduce of a fused buffer  (none)
  --rounds N     how often each is timed, in turns                  (15)
  --compute MS   overlap: duration of the backward pass             (that of the communication)
  --autogroup-nice N   weight of this session among others on the machine, e.g. -15; 0 afterwards

`ratio` is the other's time over that of the buckets, median of the rounds; above 1 the buckets are
faster. Times are those of the slowest rank. Peers sum a buffer that is fused already; the buckets
also copy the tensors in and out (`copied`), unless they lie there (`views`), and average.

overlap: tensors become ready one by one during a pass of c ms that needs no core (as on a device);
m is the same step with all tensors ready at once. The last column is (step - last bucket) / max(c, m).
)";

struct Options {
    std::vector<std::string> cases, peers;
    int rounds = 15;
    double compute_ms = 0;
    std::optional<int> autogroup_nice;
};

using Sizes = std::vector<std::size_t>;
using Call = std::function<void()>;

/// Elements of the 161 parameters of ResNet-50, in the order in which they are registered.
Sizes resnet50() {
    Sizes sizes;
    auto const convolution = [&](std::size_t in, std::size_t out, std::size_t kernel) {
        for (std::size_t const size :
             {in * out * kernel * kernel, out, out})  // with its batch norm
            sizes.push_back(size);
    };
    convolution(3, 64, 7);
    std::size_t in = 64;
    std::size_t const blocks[] = {3, 4, 6, 3};
    for (std::size_t stage = 0; stage < 4; ++stage) {
        std::size_t const width = std::size_t{64} << stage;
        for (std::size_t block = 0; block < blocks[stage]; ++block) {
            convolution(in, width, 1);
            convolution(width, width, 3);
            convolution(width, 4 * width, 1);
            if (block == 0) convolution(in, 4 * width, 1);
            in = 4 * width;
        }
    }
    sizes.push_back(in * 1000);
    sizes.push_back(1000);
    return sizes;
}

std::size_t total(Sizes const& sizes) {
    std::size_t all = 0;
    for (std::size_t const size : sizes) all += size;
    return all;
}

/// A model's gradients with their buckets, of either kind.
class Model {
public:
    enum class Memory { copied, views };

    Model(Communicator& comm, Sizes const& sizes, Memory memory, WireFormat wire)
        : tensors_(memory == Memory::copied ? sizes.size() : 0),
          buckets_(comm, gradients(sizes, memory), {.wire = wire}) {
        for (std::size_t i = 0; memory == Memory::views && i < sizes.size(); ++i)
            for (float& value : buckets_.view<float>(i)) value = 1;
    }
    void step() {
        for (std::size_t i = buckets_.size(); i-- > 0;) buckets_.ready(i);
        buckets_.finish();
    }
    /// The tensors become ready during `compute`, in proportion to their sizes.
    void step_during(Sizes const& sizes, std::chrono::duration<double> compute) {
        auto const start = std::chrono::steady_clock::now();
        double done = 0;
        auto const all = static_cast<double>(total(sizes));
        for (std::size_t i = buckets_.size(); i-- > 0;) {
            done += static_cast<double>(sizes[i]);
            std::this_thread::sleep_until(
                start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                            compute * (done / all)));
            buckets_.ready(i);
        }
        buckets_.finish();
    }
    GradientBuckets& buckets() { return buckets_; }

private:
    std::vector<Gradient> gradients(Sizes const& sizes, Memory memory) {
        std::vector<Gradient> all;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            auto const name = std::to_string(i);
            if (memory == Memory::views) {
                all.push_back(Gradient::allocate(name, sizes[i], DataType::Kind::f32));
            } else {
                tensors_[i].assign(sizes[i], 1.0f);
                all.emplace_back(name, tensors_[i]);
            }
        }
        return all;
    }

    std::vector<std::vector<float>> tensors_;
    GradientBuckets buckets_;
};

/// Times calls in turns: microseconds of the slowest rank, by call and round.
class Turns {
public:
    Turns(Communicator& comm, int rounds) : comm_(comm), rounds_(rounds) {}

    std::vector<std::vector<double>> time(std::vector<Call> const& calls) {
        std::vector<std::vector<double>> all(calls.size());
        std::vector<int> repeats;
        for (Call const& call : calls) {
            once(call, 1);
            repeats.push_back(std::clamp(static_cast<int>(5000 / once(call, 1)), 1, 500));
        }
        for (int round = 0; round < rounds_; ++round)
            for (std::size_t k = 0; k < calls.size(); ++k) {
                std::size_t const i = round % 2 == 0 ? k : calls.size() - 1 - k;
                once(calls[i], 1);
                all[i].push_back(once(calls[i], repeats[i]));
            }
        return all;
    }

private:
    double once(Call const& call, int repeats) {
        comm_.barrier();
        auto const start = std::chrono::steady_clock::now();
        for (int i = 0; i < repeats; ++i) call();
        std::chrono::duration<double, std::micro> const taken =
            std::chrono::steady_clock::now() - start;
        return comm_.allreduce_value(taken.count(), max) / repeats;
    }

    Communicator& comm_;
    int rounds_;
};

void print(Communicator const& comm, std::string const& what, std::string const& other,
           std::vector<double> const& ours, std::vector<double> const& theirs) {
    if (comm.rank() != 0) return;
    auto const spread = percentiles(ratios(theirs, ours));
    std::cout << std::left << std::setw(20) << what << std::setw(26) << other << std::right
              << std::fixed << std::setprecision(1) << std::setw(12) << median(ours)
              << std::setw(12) << median(theirs) << std::setprecision(2) << std::setw(8)
              << spread.p50 << "   " << spread.p10 << " to " << spread.p90 << std::endl;
}

/// Buckets of both kinds of memory, a flat allreduce, and peers. `one_by_one` adds a call for each
/// tensor, all of which have the same size.
void compare(Communicator& comm, Options const& options, std::string const& name,
             Sizes const& sizes, bool one_by_one) {
    Model copied(comm, sizes, Model::Memory::copied, WireFormat::native);
    Model views(comm, sizes, Model::Memory::views, WireFormat::native);
    std::vector<float> flat(total(sizes), 1.0f);
    auto const shared = comm.allocate<float>(total(sizes));
    std::fill(shared.begin(), shared.end(), 1.0f);
    std::vector<std::vector<float>> tensors;
    for (std::size_t const size : sizes) tensors.emplace_back(size, 1.0f);

    std::vector<std::string> names{"flat, private memory", "flat, allocated memory"};
    std::vector<Call> calls{[&] { copied.step(); }, [&] { views.step(); },
                            [&] { comm.allreduce(flat, average); },
                            [&] { comm.allreduce(shared, average); }};
    if (one_by_one) {
        names.push_back("ours, one call each");
        calls.push_back([&] {
            for (auto& tensor : tensors) comm.allreduce(tensor, average);
        });
    }
    Workload const load(
        Problem::of(Collective::allreduce, DataType::Kind::f32, sum, 4 * total(sizes), comm));
    auto const peers = make_peers(options.peers, comm, [&](std::string const& note) {
        if (comm.rank() == 0) std::cout << "# " << note << '\n';
    });
    Workload const one(
        Problem::of(Collective::allreduce, DataType::Kind::f32, sum, 4 * sizes.front(), comm));
    for (auto const& peer : peers) {
        for (PeerCall const& call : peer->bind(load)) {
            names.push_back(call.name + ", fused buffer");
            calls.push_back(call.call);
        }
        if (!one_by_one) continue;
        for (PeerCall const& call : peer->bind(one)) {
            names.push_back(call.name + ", one call each");
            calls.push_back([call = call.call, times = sizes.size()] {
                for (std::size_t i = 0; i < times; ++i) call();
            });
        }
    }
    auto const times = Turns(comm, options.rounds).time(calls);
    for (std::size_t ours : {0u, 1u})
        for (std::size_t i = 0; i < names.size(); ++i)
            print(comm, name + (ours == 0 ? ", copied" : ", views"), names[i], times[ours],
                  times[i + 2]);
}

void compare_wires(Communicator& comm, Options const& options) {
    Sizes const sizes = resnet50();
    constexpr WireFormat wires[] = {WireFormat::native, WireFormat::bf16, WireFormat::f16,
                                    WireFormat::fp8, WireFormat::int8};
    std::vector<std::unique_ptr<Model>> models;
    std::vector<Call> calls;
    for (WireFormat const wire : wires) {
        models.push_back(std::make_unique<Model>(comm, sizes, Model::Memory::copied, wire));
        calls.push_back([model = models.back().get()] { model->step(); });
    }
    auto const times = Turns(comm, options.rounds).time(calls);
    for (std::size_t i = 1; i < times.size(); ++i)
        print(comm, "resnet50, " + std::string(name(wires[i])), "native", times[i], times[0]);
}

void measure_overlap(Communicator& comm, Options const& options) {
    Sizes const sizes = resnet50();
    Model model(comm, sizes, Model::Memory::views, WireFormat::native);
    Sizes const last(1, (std::size_t{25} << 20) / sizeof(float));
    Model one_bucket(comm, last, Model::Memory::views, WireFormat::native);
    Turns turns(comm, options.rounds);
    double const m = median(turns.time({[&] { model.step(); }}).front());
    auto const c = options.compute_ms > 0 ? options.compute_ms * 1000 : m;
    std::chrono::duration<double, std::micro> const compute(c);
    auto const times = turns.time({[&] { model.step_during(sizes, compute); },
                                   [&] { model.step(); }, [&] { one_bucket.step(); }});
    std::vector<double> shares;
    for (std::size_t i = 0; i < times[0].size(); ++i)
        shares.push_back((times[0][i] - times[2][i]) / std::max(c, times[1][i]));
    if (comm.rank() == 0)
        std::cout << "overlap: c " << fixed(c / 1000, 2) << " ms, m "
                  << fixed(median(times[1]) / 1000, 2) << " ms, step "
                  << fixed(median(times[0]) / 1000, 2) << " ms, one bucket of 25 MiB "
                  << fixed(median(times[2]) / 1000, 2) << " ms, (step - bucket) / max(c, m) "
                  << fixed(median(shares), 2) << std::endl;
}

Options parse(int argc, char** argv) {
    po::options_description flags;
    std::string cases;
    std::vector<std::string> peers;
    Options options;
    // clang-format off
    flags.add_options()
        ("cases", po::value(&cases)->default_value("resnet50,small,wire,overlap"))
        ("peer", po::value(&peers)->composing())
        ("rounds", po::value(&options.rounds))
        ("compute", po::value(&options.compute_ms))
        ("autogroup-nice", po::value<int>())
        ("help,h", "");
    // clang-format on
    auto const given = parse_flags(argc, argv, flags);
    if (given.count("help")) return {};
    options.autogroup_nice = optional_int(given, "autogroup-nice");
    require_rounds(options.rounds);
    options.cases = split(cases, ',');
    for (std::string const& list : peers)
        for (std::string& peer : split(list, ',')) options.peers.push_back(std::move(peer));
    for (std::string const& name : options.cases)
        if (name != "resnet50" && name != "small" && name != "wire" && name != "overlap")
            throw UsageError(
                text("--cases ", name, " (there are: resnet50, small, wire, overlap)"));
    return options;
}

int run(int argc, char** argv) {
    Options const options = parse(argc, argv);
    if (options.cases.empty()) {
        std::cout << usage;
        return 0;
    }
    AutogroupWeight const weight(options.autogroup_nice);  // before MPI starts threads
    World world;
    auto& comm = world.communicator();
    if (world.rank() == 0 && !weight.problem().empty())
        std::cout << "# " << weight.problem() << '\n';
    if (world.rank() == 0)
        std::cout << "# " << world.size() << " ranks on " << world.nodes().nodes()
                  << (world.nodes().nodes() == 1 ? " node, " : " nodes, ")
                  << this_machine().allowed_cpus << " processors for each\n"
                  << std::left << std::setw(20) << "# buckets" << std::setw(26) << "other"
                  << std::right << std::setw(12) << "buckets us" << std::setw(12) << "other us"
                  << std::setw(8) << "ratio" << std::endl;
    for (std::string const& name : options.cases) {
        if (name == "resnet50") compare(comm, options, name, resnet50(), false);
        if (name == "small") compare(comm, options, name, Sizes(300, 256), true);
        if (name == "wire") compare_wires(comm, options);
        if (name == "overlap") measure_overlap(comm, options);
    }
    return 0;
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    return sinew::bench::run_program("gradients", sinew::bench::run, argc, argv);
}
