// SPDX-License-Identifier: Apache-2.0
// Times sinew's collectives and those of other libraries in the same run. See --help.
#include <fstream>
#include <iostream>
#include <optional>
#include <sinew/error.hpp>
#include <sinew/thread_ranks.hpp>
#include <sinew/world.hpp>

#include "benchmarks/collectives/options.hpp"
#include "benchmarks/collectives/results/plot.hpp"
#include "benchmarks/collectives/results/report_page.hpp"
#include "benchmarks/collectives/results/table.hpp"
#include "benchmarks/collectives/sweep.hpp"
#include "benchmarks/peers/mpi_session.hpp"
#include "benchmarks/peers/openmpi_peer.hpp"
#include "benchmarks/support/gnuplot.hpp"
#include "benchmarks/support/machine/autogroup.hpp"
#include "benchmarks/support/machine/own_session.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {
namespace {

constexpr int failed = 1, misused = 2;

int complain(std::string const& words, int status) {
    std::cerr << "collectives: " << words << std::endl;
    return status;
}

/// The peers that have a column: not those that are one of many.
bool has_column(std::string const& peer) {
    return peer != openmpi_forced && peer != openmpi_components &&
           peer.find(':') == std::string::npos;
}

Table::Columns columns_for(Options const& options) {
    Table::Columns columns{.best = options.peers.size() > 1,
                           .link = options.link_rate > 0,
                           .limit = options.link_rate == 0,
                           .tail = options.tail};
    for (std::string const& peer : options.peers) {
        if (has_column(peer)) columns.peers.push_back(peer);
        else columns.best = true;
    }
    return columns;
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
          table_(std::cout, columns_for(options)) {
        if (!options.plot.empty()) require_gnuplot();
    }
    void head(RunInfo const& run) {
        std::cout << to_text(run) << std::flush;
        if (json_.is_open()) json_ << to_json(run) << std::endl;
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
    Sweep sweep(comm, options,
                {.row =
                     [&](Row const& row) {
                         if (first) output->row(row);
                     },
                 .note =
                     [&](std::string const& words) {
                         if (first) complain(words, 0);
                     }});
    if (first) output->head(sweep.info());
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
    std::vector<RunInfo> runs;
    for (std::string const& path : options.merge) {
        auto results = read_results(path);
        files.push_back(std::move(results.rows));
        runs.push_back(std::move(results.run));
    }
    auto const rows = merge(files);
    Options shown = options;
    bool link = false;
    shown.peers.clear();
    for (Row const& row : rows) {
        link = link || row.fraction_of_link;
        shown.tail = shown.tail || row.tail;
        for (PeerResult const& peer : row.peers)
            if (std::find(shown.peers.begin(), shown.peers.end(), peer.name) == shown.peers.end())
                shown.peers.push_back(peer.name);
    }
    shown.link_rate = link ? 1 : 0;
    Output output(shown);
    output.head(merge(runs));
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

int run_report(Options const& options) {
    std::vector<Results> runs;
    for (std::string const& path : options.runs) runs.push_back(read_results(path));
    write_report(runs, options.report);
    return 0;
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
    if (problem.empty() && !options.report.empty())
        return guarded(0, [&] { return run_report(options); });
    if (options.own_session && problem.empty()) begin_own_session();

    AutogroupWeight const weight(options.autogroup_nice);  // before MPI starts threads
    auto const tell = [&](int rank) {
        if (rank == 0 && !weight.problem().empty()) complain(weight.problem(), 0);
    };
    if (options.threads > 0 && !options.help) {
        tell(0);
        return guarded(0, [&] { return run_threads(options); });
    }
    // Join the world even for a mistake or --help: it is printed once, and mpiexec ends cleanly.
    MpiSession mpi(argc, argv, options.mpi_thread, options.peers);
    std::optional<World> world(std::in_place, argc, argv);
    tell(world->rank());
    if (!problem.empty()) {
        if (world->rank() == 0) complain(problem, misused);
    } else if (options.help && world->rank() == 0) {
        std::cout << help_text();
    }
    int status = problem.empty() ? 0 : misused;
    bool together = true;
    if (problem.empty() && !options.help)
        status = guarded(world->rank(), [&] {
            together = false;
            int const result = run_ranks(world->communicator(), options);
            together = true;
            return result;
        });
    world.reset();
    // After a failure the others may not come to MPI_Finalize, which waits for them. Every rank has
    // the same usage errors.
    if (together || status == misused) mpi.leave();
    return status;
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
