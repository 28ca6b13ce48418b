// SPDX-License-Identifier: Apache-2.0
// An allreduce of GPU memory through host memory beside its stages alone. See --help.
#include <algorithm>
#include <chrono>
#include <functional>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sinew/world.hpp>
#include <span>

#include "benchmarks/collectives/workload.hpp"
#include "benchmarks/peers/peer.hpp"
#include "benchmarks/support/flags.hpp"
#include "benchmarks/support/gpu/gpu.hpp"
#include "benchmarks/support/program.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/text.hpp"

namespace po = boost::program_options;

namespace sinew::bench {
namespace {

constexpr char const* usage =
    R"(staged [flags]: allreduce of GPU memory through host memory (algorithm "staged"), f32.

  --mib LIST     sizes of the vector     (1,16,256)
  --peer LIST    openmpi, mpich, gloo: copy to the host, their allreduce, copy back  (none)
  --rounds N     how often each is timed, in turns  (11)
  --json FILE    write the figures as JSON

The stages alone are the copy to pinned memory, the allreduce there, and the copy back; `one by one` is
all three without overlap. Ranks of one GPU share its bus. Times are those of the slowest rank.
)";

struct Options {
    std::vector<int> mib;
    std::vector<std::string> peers;
    int rounds = 11;
    std::string json;
    bool help = false;
};

/// A vector on the GPU and the host's pinned copy.
class Vector {
public:
    Vector(Communicator const& comm, std::size_t bytes)
        : load(Problem::of(Collective::allreduce, DataType::Kind::f32, sum, bytes, comm)),
          bytes_(load.problem().bytes()) {
        check_cuda(cudaMalloc(&device_, bytes_), "cudaMalloc");
        check_cuda(cudaMemset(device_, 0, bytes_), "cudaMemset");
        for (std::byte* const memory : {load.in_bytes(), load.out_bytes()})
            check_cuda(cudaHostRegister(memory, bytes_, cudaHostRegisterDefault),
                       "cudaHostRegister");
    }
    Vector(Vector const&) = delete;
    ~Vector() {
        cudaHostUnregister(load.in_bytes());
        cudaHostUnregister(load.out_bytes());
        cudaFree(device_);
    }
    std::span<float> device() const {
        return {static_cast<float*>(device_), bytes_ / sizeof(float)};
    }
    void down() const { copy(load.in_bytes(), device_, cudaMemcpyDeviceToHost); }
    void up() const { copy(device_, load.out_bytes(), cudaMemcpyHostToDevice); }

    Workload load;

private:
    void copy(void* to, void const* from, cudaMemcpyKind kind) const {
        check_cuda(cudaMemcpyAsync(to, from, bytes_, kind, cudaStreamPerThread), "cudaMemcpyAsync");
        check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
    }

    std::size_t bytes_;
    void* device_ = nullptr;
};

struct Way {
    std::string name;
    std::function<void()> call;
    std::vector<double> microseconds = {};
};

void measure(Communicator& comm, Options const& options, int mib, nlohmann::json& figures) {
    Vector const vector(comm, static_cast<std::size_t>(mib) << 20);
    auto const on_host = [&] { comm.allreduce(vector.load.in(), vector.load.out(), sum); };
    std::vector<Way> ways{
        {"staged", [&] { comm.allreduce(vector.device(), sum, {.algorithm = "staged"}); }},
        {"copy to the host", [&] { vector.down(); }},
        {"allreduce on the host", on_host},
        {"copy to the GPU", [&] { vector.up(); }},
        {"one by one", [&] {
             vector.down();
             on_host();
             vector.up();
         }}};
    auto const peers = make_peers(options.peers, comm, [&](std::string const& note) {
        if (comm.rank() == 0) std::cout << "# " << note << '\n';
    });
    for (auto const& peer : peers)
        for (PeerCall const& call : peer->bind(vector.load))
            ways.push_back({call.name + ", one by one", [&vector, call = call.call] {
                                vector.down();
                                call();
                                vector.up();
                            }});
    for (int round = -2; round < options.rounds; ++round)  // the first ones warm up
        for (Way& way : ways) {
            comm.barrier();
            auto const start = std::chrono::steady_clock::now();
            way.call();
            std::chrono::duration<double, std::micro> const taken =
                std::chrono::steady_clock::now() - start;
            double const slowest = comm.allreduce_value(taken.count(), max);
            if (round >= 0) way.microseconds.push_back(slowest);
        }
    if (comm.rank() != 0) return;
    double slowest_stage = 0;
    for (std::size_t stage = 1; stage < 4; ++stage)
        slowest_stage = std::max(slowest_stage, median(ways[stage].microseconds));
    double const staged = median(ways[0].microseconds);
    nlohmann::json row{
        {"mib", mib}, {"ranks", comm.size()}, {"of_slowest_stage", staged / slowest_stage}};
    for (Way const& way : ways) {
        double const ratio = median(ratios(way.microseconds, ways[0].microseconds));
        std::cout << std::setw(5) << mib << " MiB  " << std::left << std::setw(28) << way.name
                  << std::right << std::fixed << std::setprecision(1) << std::setw(12)
                  << median(way.microseconds) << " us  " << std::setprecision(2) << std::setw(6)
                  << ratio << " of staged" << std::endl;
        row["ways"].push_back({{"name", way.name}, {"microseconds", median(way.microseconds)}});
    }
    std::cout << std::setw(5) << mib << " MiB  staged takes " << std::setprecision(2)
              << staged / slowest_stage << " times its slowest stage" << std::endl;
    figures.push_back(std::move(row));
}

Options parse(int argc, char** argv) {
    po::options_description flags;
    Options options;
    std::string sizes;
    std::vector<std::string> peers;
    // clang-format off
    flags.add_options()
        ("mib", po::value(&sizes)->default_value("1,16,256"))
        ("peer", po::value(&peers)->composing())
        ("rounds", po::value(&options.rounds))
        ("json", po::value(&options.json))
        ("help,h", "");
    // clang-format on
    options.help = parse_flags(argc, argv, flags).count("help") > 0;
    options.mib = parse_counts("mib", sizes, 4096);
    for (std::string const& list : peers)
        for (std::string& peer : split(list, ',')) options.peers.push_back(std::move(peer));
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
    nlohmann::json figures = nlohmann::json::array();
    if (world.rank() == 0) std::cout << "# " << world.size() << " ranks, one GPU\n";
    for (int const mib : options.mib) measure(world.communicator(), options, mib, figures);
    if (world.rank() == 0 && !options.json.empty())
        write_file(options.json, figures.dump(2) + '\n');
    return 0;
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    return sinew::bench::run_program("staged", sinew::bench::run, argc, argv);
}
