// SPDX-License-Identifier: Apache-2.0
// Times an MPI program's collectives with libsinew_mpi.so and without it, in turns, in one process. See --help.
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <string>
#include <vector>

#include "benchmarks/support/flags.hpp"
#include "benchmarks/support/program.hpp"
#include "benchmarks/support/sizes.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/text.hpp"

namespace po = boost::program_options;

namespace sinew::bench {
namespace {

constexpr char const* usage =
    R"(drop_in [flags]: MPI's allreduce (f32 sum), through libsinew_mpi.so and through the MPI below, in turns.

  ./dev bench drop_in, or: sinew run --accelerate -n 2 build/release/bench/drop_in

  --sizes LIST   bytes of the vector                         (8,1K,8K,16K,64K,1M,16M)
  --ways LIST    how the call is completed                   (all)
       blocking    MPI_Allreduce
       wait        MPI_Iallreduce, then MPI_Wait
       test        MPI_Iallreduce, then MPI_Test until it is complete
       compute     MPI_Iallreduce, --compute ms without calls of MPI, then MPI_Wait
       persistent  MPI_Start, then MPI_Wait
  --compute MS   of `compute`                                (2)
  --rounds N     how often each is timed, in turns           (15)
  --json FILE    also write what was measured

`ratio` is MPI's time over sinew's, the median of the rounds; above 1 sinew is faster. Times are those of the
slowest rank.
)";

struct Options {
    std::vector<std::size_t> sizes;
    std::vector<std::string> ways;
    double compute_ms = 2;
    int rounds = 15;
    std::string json;
};

using Clock = std::chrono::steady_clock;

/// The functions of one library. Both have the types of mpi.h.
struct Mpi {
    decltype(&MPI_Allreduce) allreduce;
    decltype(&MPI_Iallreduce) iallreduce;
    decltype(&MPI_Barrier) barrier;
    decltype(&MPI_Wait) wait;
    decltype(&MPI_Test) test;
    decltype(&MPI_Start) start;
    decltype(&MPI_Request_free) request_free;
    int (*allreduce_init)(void const*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                          MPI_Request*);  // null: this MPI has none

    /// Those that a lookup in `library` finds.
    explicit Mpi(void* library) {
        auto const find = [library](auto& function, std::initializer_list<char const*> names) {
            void* found = nullptr;
            for (char const* const name : names)
                if (found == nullptr) found = ::dlsym(library, name);
            std::memcpy(&function, &found, sizeof found);
            return found != nullptr;
        };
        bool const all = find(allreduce, {"MPI_Allreduce"}) &&
                         find(iallreduce, {"MPI_Iallreduce"}) && find(barrier, {"MPI_Barrier"}) &&
                         find(wait, {"MPI_Wait"}) && find(test, {"MPI_Test"}) &&
                         find(start, {"MPI_Start"}) && find(request_free, {"MPI_Request_free"});
        if (!all) throw Unavailable(text("a function of MPI was not found: ", ::dlerror()));
        find(allreduce_init, {"MPI_Allreduce_init", "MPIX_Allreduce_init"});
    }
};

/// The MPI library of this process, past what is loaded before it.
void* mpi_library() {
    std::string path;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
            std::string const name = info->dlpi_name;
            for (char const* const known : {"/libmpi.so", "/libmpich.so"})
                if (name.find(known) != name.npos) *static_cast<std::string*>(result) = name;
            return 0;
        },
        &path);
    void* const library = path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) throw Unavailable("neither libmpi.so nor libmpich.so is loaded");
    return library;
}

/// One way to make the call, of one library.
class Way {
public:
    Way(Mpi const& mpi, std::string const& name, std::size_t bytes, double compute_ms)
        : mpi_(mpi), in_(std::max<std::size_t>(bytes / sizeof(float), 1), 1.0F), out_(in_.size()),
          count_(static_cast<int>(in_.size())), compute_(compute_ms) {
        std::map<std::string, void (Way::*)()> const known{{"blocking", &Way::block},
                                                           {"wait", &Way::wait},
                                                           {"test", &Way::test},
                                                           {"compute", &Way::compute},
                                                           {"persistent", &Way::persist}};
        call_ = known.at(name);
        if (name == "persistent")
            mpi_.allreduce_init(in_.data(), out_.data(), count_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                                MPI_INFO_NULL, &request_);
    }
    Way(Way const&) = delete;
    ~Way() {
        if (request_ != MPI_REQUEST_NULL) mpi_.request_free(&request_);
    }

    /// Microseconds of a call, of `calls` in a row.
    double time(int calls) {
        auto const begin = Clock::now();
        for (int i = 0; i < calls; ++i) (this->*call_)();
        std::chrono::duration<double, std::micro> const taken = Clock::now() - begin;
        return taken.count() / calls;
    }
    bool right(int ranks) const {
        return out_.front() == static_cast<float>(ranks) && out_.back() == out_.front();
    }

private:
    void block() {
        mpi_.allreduce(in_.data(), out_.data(), count_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    void post() {
        mpi_.iallreduce(in_.data(), out_.data(), count_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                        &request_);
    }
    void wait() {
        post();
        mpi_.wait(&request_, MPI_STATUS_IGNORE);
    }
    void test() {
        post();
        for (int flag = 0; flag == 0;) mpi_.test(&request_, &flag, MPI_STATUS_IGNORE);
    }
    void compute() {
        post();
        auto const end = Clock::now() + compute_;
        while (Clock::now() < end) {}
        mpi_.wait(&request_, MPI_STATUS_IGNORE);
    }
    void persist() {
        mpi_.start(&request_);
        mpi_.wait(&request_, MPI_STATUS_IGNORE);
    }

    Mpi const& mpi_;
    std::vector<float> in_, out_;
    int count_;
    std::chrono::duration<double, std::milli> compute_;
    void (Way::*call_)() = nullptr;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

Options parse(int argc, char** argv) {
    po::options_description flags;
    Options options;
    std::string sizes, ways;
    // clang-format off
    flags.add_options()
        ("sizes", po::value(&sizes)->default_value("8,1K,8K,16K,64K,1M,16M"))
        ("ways", po::value(&ways)->default_value("blocking,wait,test,compute,persistent"))
        ("compute", po::value(&options.compute_ms))
        ("rounds", po::value(&options.rounds))
        ("json", po::value(&options.json))
        ("help,h", "");
    // clang-format on
    auto const given = parse_flags(argc, argv, flags);
    if (given.count("help")) return {};
    require_rounds(options.rounds);
    options.sizes = parse_sizes(sizes);
    options.ways = split(ways, ',');
    std::vector<std::string> const known{"blocking", "wait", "test", "compute", "persistent"};
    for (std::string const& way : options.ways)
        if (std::ranges::find(known, way) == known.end())
            throw UsageError(text("--ways ", way, " (there are: ", join(known), "; did you mean ",
                                  nearest(way, known), "?)"));
    if (!(options.compute_ms >= 0 && options.compute_ms <= 1000))
        throw UsageError(text("--compute ", options.compute_ms, " (must be 0 to 1000 ms)"));
    return options;
}

/// The largest value of all ranks.
double of_slowest(Mpi const& mpi, double value) {
    double largest = 0;
    mpi.allreduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}

void measure(Options const& options, Mpi const& ours, Mpi const& below) {
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    nlohmann::json rows = nlohmann::json::array();
    if (rank == 0)
        std::cout << "# " << ranks << " ranks\n# " << std::left << std::setw(12) << "way"
                  << std::right << std::setw(8) << "size" << std::setw(14) << "sinew us"
                  << std::setw(14) << "MPI us" << std::setw(8) << "ratio" << std::endl;
    for (std::string const& name : options.ways) {
        if (name == "persistent" && below.allreduce_init == nullptr) {
            if (rank == 0) std::cout << "# persistent: this MPI has none" << std::endl;
            continue;
        }
        for (std::size_t const size : options.sizes) {
            Way way_of_ours(ours, name, size, options.compute_ms),
                other(below, name, size, options.compute_ms);
            Way* const both[] = {&way_of_ours, &other};
            std::vector<double> times[2];
            int calls[2] = {};
            for (int i = 0; i < 2; ++i) {  // blocks of about 3 ms, as long as the slowest rank's
                constexpr double block_us = 3000;
                both[i]->time(3);
                double const once = of_slowest(below, both[i]->time(3));
                calls[i] = static_cast<int>(std::clamp(block_us / once, 1.0, 5000.0));
            }
            for (int round = 0; round < options.rounds; ++round)
                for (int i = 0; i < 2; ++i) {
                    // Not counted: the first calls meet caches that the other library has filled.
                    both[i]->time((calls[i] + 3) / 4);
                    below.barrier(MPI_COMM_WORLD);
                    times[i].push_back(of_slowest(below, both[i]->time(calls[i])));
                    if (!both[i]->right(ranks)) throw Error("a sum is wrong");
                }
            if (rank != 0) continue;
            double const ratio = median(ratios(times[1], times[0]));
            std::cout << "  " << std::left << std::setw(12) << name << std::right << std::setw(8)
                      << format_size(size) << std::setw(14) << fixed(median(times[0]), 2)
                      << std::setw(14) << fixed(median(times[1]), 2) << std::setw(8)
                      << fixed(ratio, 2) << std::endl;
            rows.push_back({{"way", name},
                            {"bytes", size},
                            {"ranks", ranks},
                            {"sinew_us", median(times[0])},
                            {"mpi_us", median(times[1])},
                            {"ratio", ratio}});
        }
    }
    if (rank == 0 && !options.json.empty()) write_file(options.json, rows.dump(1) + "\n");
}

int run(int argc, char** argv) {
    Options const options = parse(argc, argv);
    if (options.ways.empty()) {
        std::cout << usage;
        return 0;
    }
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
    Mpi const ours(RTLD_DEFAULT), below(mpi_library());
    if (ours.allreduce == below.allreduce)
        throw UsageError(
            "libsinew_mpi.so is not loaded, so that there is nothing to compare. Start with: sinew "
            "run --accelerate");
    measure(options, ours, below);
    MPI_Finalize();
    return 0;
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    return sinew::bench::run_program("drop_in", sinew::bench::run, argc, argv);
}
