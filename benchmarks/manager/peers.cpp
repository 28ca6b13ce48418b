// SPDX-License-Identifier: Apache-2.0
#include <sinew/error.hpp>
#include <string>
#include <vector>

#include "benchmarks/manager/contestants.hpp"
#include "benchmarks/support/helper_process.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

std::vector<std::string> command(std::string_view peer) {
    if (peer == "multiprocessing") return {SINEW_MANAGER_PYTHON, SINEW_MANAGER_PEER};
#ifdef SINEW_GRPC_PEER
    return {SINEW_GRPC_PEER};
#else
    throw Unavailable("it was not found when this was built");
#endif
}

/// The Debian packages that contain the peer.
std::string packages(std::string_view peer) {
    return peer == "multiprocessing" ? "python3" : "libgrpc++-dev protobuf-compiler-grpc";
}

class PeerProgram final : public Contestant {
public:
    PeerProgram(std::string_view peer, Case const& what, int managers,
                std::chrono::microseconds step)
        : question_(text(what.name, " ", managers, " ", step.count(), " ")),
          process_(command(peer)) {}

    double cost(std::uint64_t size) override {
        auto const answer = process_.ask(text(question_, size), 120);
        if (answer.starts_with("error: ")) throw Error(answer.substr(7));
        return std::stod(answer);
    }

private:
    std::string question_;
    HelperProcess process_;
};

}  // namespace

std::unique_ptr<Contestant> make_call_peer(std::string_view peer, Case const& what, int managers,
                                           std::chrono::microseconds step) {
    try {
        auto made = std::make_unique<PeerProgram>(peer, what, managers, step);
        made->cost(1);  // starts its processes and loads what is loaded late
        return made;
    } catch (Error const& problem) {
        throw Unavailable(text(peer, " is left out (", problem.what(),
                               "). To add it: apt-get install ", packages(peer),
                               " and build again, or ./dev bench manager, which does both"));
    }
}

}  // namespace sinew::bench
