// SPDX-License-Identifier: Apache-2.0
// Times sinew's collectives and those of other libraries in the same run. See --help.
#include <fstream>
#include <iostream>
#include <sinew/error.hpp>
#include <sinew/thread_ranks.hpp>
#include <sinew/version.hpp>
#include <sinew/world.hpp>

#include "benchmarks/collectives/options.hpp"
#include "benchmarks/collectives/plot.hpp"
#include "benchmarks/collectives/sweep.hpp"
#include "benchmarks/collectives/table.hpp"
#include "benchmarks/peers/mpi_peer.hpp"
#include "benchmarks/support/gnuplot.hpp"
#include "benchmarks/support/machine/autogroup.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {
namespace {

constexpr int failed = 1, misused = 2;

int complain(std::string const& words, int status) {
    std::cerr << "collectives: " << words << std::endl;
    return status;
}

void print_head(Communicator const& comm, std::string const& transport) {
    std::cout << "# sinew " << version() << ", " << comm.size()
              << (comm.size() == 1 ? " rank" : " ranks") << " on " << comm.nodes().nodes()
              << (comm.nodes().nodes() == 1 ? " node (" : " nodes (") << join(comm.nodes().hosts)
              << "), transport " << transport;
    if (transport == "mpi") std::cout << " over " << mpi_version();
    std::cout << std::endl;
}

/// The column titles of the peers; "mpi" is replaced by the name of the MPI library.
std::vector<std::string> shown_peers(std::vector<std::string> peers) {
    for (std::string& peer : peers)
        if (peer == "mpi" && std::string(SINEW_MPI_VENDOR) != "other") peer = SINEW_MPI_VENDOR;
    return peers;
}

std::ofstream open_json(std::string const& path) {
    std::ofstream file;
    if (path.empty()) return file;
    file.open(path, std::ios::trunc);
    if (!file) throw UsageError(text("--json ", path, " cannot be written. Is the folder there?"));
    return file;
}

/// Writes the rows. Only rank 0 has one.
class Output {
public:
    explicit Output(Options const& options)
        : options_(options), json_(open_json(options.json)),
          table_(std::cout, shown_peers(options.peers), options.link_rate > 0) {
        if (!options.plot.empty()) require_gnuplot();
    }
    void row(Row const& row) {
        table_.print(row);
        if (json_.is_open()) json_ << to_json(row) << std::endl;
        rows_.push_back(row);
    }
    void finish() {
        if (!options_.plot.empty()) draw(plot_script(rows_, options_.plot), options_.plot);
        if (json_.is_open() && !json_)
            throw SystemError(text(options_.json, " could not be written"), EIO);
    }

private:
    Options const& options_;
    std::ofstream json_;
    Table table_;
    std::vector<Row> rows_;
};

void explain(Communicator& comm, Options const& options) {
    for (Collective const collective : options.collectives) {
        std::string const words = comm.explain(collective);
        if (comm.rank() == 0) std::cout << words << std::endl;
    }
}

void require_ranks(Communicator const& comm, Options const& options) {
    if (!options.ranks || *options.ranks == comm.size()) return;
    int const wanted = *options.ranks;
    throw UsageError(text("--ranks ", wanted, ", but this job has ", comm.size(),
                          ". Launch it by mpiexec -n ", wanted, " or ./dev bench --ranks ", wanted,
                          ", or use --threads ", wanted));
}

/// Returns rank 0's output, or null on other ranks. Throws on all ranks if rank 0 fails.
std::unique_ptr<Output> make_output(Communicator& comm, Options const& options) {
    std::unique_ptr<Output> output;
    std::exception_ptr problem;
    try {
        if (comm.rank() == 0) output = std::make_unique<Output>(options);
    } catch (Error const&) {
        problem = std::current_exception();
    }
    int good = problem ? 0 : 1;
    comm.broadcast(std::span(&good, 1));
    if (problem) std::rethrow_exception(problem);
    if (good == 0) throw UsageError("rank 0 cannot write the results");
    return output;
}

int run_ranks(Communicator& comm, Options const& options) {
    require_ranks(comm, options);
    if (options.explain) {
        explain(comm, options);
        return 0;
    }
    auto const output = make_output(comm, options);
    bool const first = comm.rank() == 0;
    if (comm.size() == 1)
        complain(
            "one rank has no other rank to communicate with. Start several by mpiexec -n N, or "
            "give --threads N",
            0);
    if (first) print_head(comm, std::string(comm.transport().name()));
    Sweep sweep(comm, options,
                {.row =
                     [&](Row const& row) {
                         if (first) output->row(row);
                     },
                 .note =
                     [&](std::string const& words) {
                         if (first) complain(words, 0);
                     }});
    sweep.run();
    if (first) output->finish();
    if (sweep.rows() == 0)
        throw UsageError("nothing was measured: everything requested was left out, see above");
    if (sweep.wrong() > 0 && first)
        complain(text(sweep.wrong(), " elements of our results were wrong; see #wrong"), failed);
    return sweep.wrong() > 0 ? failed : 0;
}

/// Runs `work` and returns the exit status. Prints exceptions; usage errors, which all ranks have,
/// are printed by rank 0 only.
template <class Work>
int guarded(int rank, Work const& work) {
    try {
        return work();
    } catch (UsageError const& problem) {
        return rank == 0 ? complain(problem.what(), misused) : misused;
    } catch (Unavailable const& problem) {
        return rank == 0 ? complain(problem.what(), failed) : failed;
    } catch (std::exception const& problem) {
        return complain(problem.what(), failed);
    }
}

int run_threads(Options const& options) {
    int status = 0;
    run_thread_ranks(options.threads, [&](Communicator& comm) {
        int const mine = run_ranks(comm, options);
        if (comm.rank() == 0) status = mine;
    });
    return status;
}

int run_merge(Options const& options) {
    std::vector<std::vector<Row>> files;
    for (std::string const& path : options.merge) files.push_back(read_rows(path));
    auto const rows = merge(files);
    Options shown = options;
    bool link = false;
    shown.peers.clear();
    for (Row const& row : rows) {
        link = link || row.fraction_of_link;
        for (PeerResult const& peer : row.peers)
            if (std::find(shown.peers.begin(), shown.peers.end(), peer.name) == shown.peers.end())
                shown.peers.push_back(peer.name);
    }
    shown.link_rate = link ? 1 : 0;
    Output output(shown);
    std::cout << "# merged from " << join(options.merge) << '\n'
              << "# each file is a separate launch: compare with more care than within one\n";
    bool wrong = false;
    for (Row const& row : rows) {
        output.row(row);
        wrong = wrong || row.wrong.value_or(0) > 0;
    }
    output.finish();
    return wrong ? failed : 0;
}

int run(int argc, char** argv) {
    Options options;
    std::string problem;
    try {
        options = parse_options({argv + 1, argv + argc});
    } catch (UsageError const& mistake) {
        problem = mistake.what();
    }
    if (problem.empty() && !options.merge.empty())
        return guarded(0, [&] { return run_merge(options); });

    AutogroupWeight const weight(options.autogroup_nice);  // before MPI starts threads
    auto const tell = [&](int rank) {
        if (rank == 0 && !weight.problem().empty()) complain(weight.problem(), 0);
    };
    if (options.threads > 0 && !options.help) {
        tell(0);
        return guarded(0, [&] { return run_threads(options); });
    }
    // Join the world even for a mistake or --help: it is printed once, and mpiexec ends cleanly.
    World world(argc, argv);
    tell(world.rank());
    if (!problem.empty()) return world.rank() == 0 ? complain(problem, misused) : misused;
    if (options.help) {
        if (world.rank() == 0) std::cout << help_text();
        return 0;
    }
    return guarded(world.rank(), [&] { return run_ranks(world.communicator(), options); });
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    try {
        return sinew::bench::run(argc, argv);
    } catch (std::exception const& problem) {
        return sinew::bench::complain(problem.what(), sinew::bench::failed);
    }
}
