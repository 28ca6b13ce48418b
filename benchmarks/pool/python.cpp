// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <sinew/error.hpp>

#include "benchmarks/pool/contestant.hpp"
#include "benchmarks/support/helper_process.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

std::vector<std::string> command(std::string_view peer, int workers) {
    std::vector<std::string> words;
    if (peer == "mpi4py")
        words = {SINEW_POOL_MPIRUN,           "--oversubscribe", "--bind-to", "none",          "-n",
                 std::to_string(workers + 1), SINEW_POOL_PYTHON, "-m",        "mpi4py.futures"};
    else words = {SINEW_POOL_PYTHON};
    words.emplace_back(SINEW_POOL_PEER);
    words.emplace_back(peer);
    return words;
}

/// The Debian packages that contain the peer.
std::string package(std::string_view peer) {
    if (peer == "multiprocessing") return "python3";
    return peer == "dask" ? "python3-distributed" : "python3-mpi4py openmpi-bin";
}

class Python final : public Contestant {
public:
    Python(std::string_view peer, Case const& what, int workers)
        : case_(what), workers_(workers), process_(command(peer, workers)) {}

    double cost(std::uint64_t size) override {
        auto const answer = process_.ask(text(case_.name, " ", workers_, " ", size), 120);
        if (answer.starts_with("error: ")) throw Error(answer.substr(7));
        return std::stod(answer);
    }

private:
    Case const& case_;
    int workers_;
    HelperProcess process_;
};

}  // namespace

std::unique_ptr<Contestant> make_python(std::string_view peer, Case const& what, int workers) {
    // Allow mpirun to run as root; the other peers ignore these.
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    try {
        auto made = std::make_unique<Python>(peer, what, workers);
        made->cost(what.at_least);  // starts its workers and loads what is loaded late
        return made;
    } catch (Error const& problem) {
        throw Unavailable(text(peer, " is left out (", problem.what(),
                               "). To add it: apt-get install ", package(peer),
                               ", or ./dev bench pool, which does"));
    }
}

}  // namespace sinew::bench
