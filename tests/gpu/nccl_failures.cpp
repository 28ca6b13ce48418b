// SPDX-License-Identifier: Apache-2.0
// nccl_failures CASE: three ranks on one GPU, one of which does not do what the others do. They must say so in
// time, with the real NCCL's way to end what is under way, and be able to go on.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sinew/error.hpp>
#include <sinew/world.hpp>

#include <unistd.h>

#include "tests/gpu/gpu_or_skip.hpp"
#include "tests/gpu/nccl_on_one_gpu.hpp"

namespace {

using sinew::Communicator;
using sinew::tests::expect;
using sinew::tests::OnDevice;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

void reduce(Communicator& comm, std::size_t count = 100'000) {
    OnDevice<float> const data(std::vector<float>(count, 1.0F));
    comm.allreduce(data.span(), sinew::sum);
    if (data.values()[count - 1] != static_cast<float>(comm.size()))
        throw sinew::Error("a wrong sum");
}

/// The error of a call that cannot succeed, which must come soon; empty if it succeeds.
template <class Call>
std::string error_of(Call const& call) {
    auto const start = Clock::now();
    std::string words;
    try {
        call();
    } catch (sinew::Error const& error) {
        words = error.what();
    }
    std::cout << words << '\n';
    expect(Clock::now() - start < 25s, "it came in time");
    return words;
}

/// Rank 1 dies in the middle; the others go on as two.
bool killed(Communicator& comm) {
    for (int i = 0; i < 3; ++i) reduce(comm);
    if (comm.rank() == 1) ::kill(::getpid(), SIGKILL);
    std::string const words = error_of([&] {
        for (int i = 0; i < 1000; ++i) reduce(comm);
    });
    bool good = expect(contains(words, "rank 1") && contains(words, "died"), "rank 1 is named");
    Communicator left = comm.shrink();
    reduce(left);
    good &= expect(left.size() == 2, "the two ranks that are left go on");
    left.barrier();
    return good;
}

/// Rank 1 does not call; the others name it at their deadline.
bool late(Communicator& comm) {
    reduce(comm);
    if (comm.rank() == 1) {
        std::this_thread::sleep_for(8s);
        std::string const words = error_of([&] { reduce(comm); });
        return expect(!words.empty(), "the late rank learns that the call was lost");
    }
    std::string const words = error_of([&] { reduce(comm); });
    return expect(contains(words, "rank 1"), "rank 1 is named");
}

/// Rank 1 passes another count: NCCL waits for the rest, and the others may not notice.
bool mismatch(Communicator& comm) {
    reduce(comm);
    std::string const words =
        error_of([&] { reduce(comm, comm.rank() == 1 ? 2'000'000 : 1'000'000); });
    bool const named = contains(words, "2000000") && contains(words, "1000000");
    char const* const check = std::getenv("SINEW_CHECK");
    bool const checked = check != nullptr && std::string_view(check) == "1";
    return expect(named || (comm.rank() != 1 && !checked), "both counts are named");
}

/// Rank 1 never begins the first call on the memory of a GPU.
bool no_start(Communicator& comm) {
    if (comm.rank() == 1) {
        std::this_thread::sleep_for(8s);
        return true;
    }
    std::string const words = error_of([&] { reduce(comm); });
    return expect(contains(words, "rank 1"), "rank 1 is named");
}

int run(std::string_view name, Communicator& comm) {
    if (name == "killed") return killed(comm) ? 0 : 1;
    if (name == "late") return late(comm) ? 0 : 1;
    if (name == "mismatch") return mismatch(comm) ? 0 : 1;
    if (name == "no-start") return no_start(comm) ? 0 : 1;
    std::cout << "cases: killed, late, mismatch, no-start\n";
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    sinew::tests::need_gpu();
    sinew::tests::use_nccl_on_one_gpu();
    try {
        sinew::World world(argc, argv);
        return run(argc > 1 ? argv[1] : "", world.communicator());
    } catch (sinew::Error const& error) {
        expect(false, error.what());
        return 1;
    }
}
