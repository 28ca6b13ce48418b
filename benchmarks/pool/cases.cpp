// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/pool/cases.hpp"

namespace sinew::bench {

namespace {

std::vector<Case> make_cases() {
    constexpr bool rate = true, time = false;
    constexpr std::string_view mp = "multiprocessing";
    // clang-format off
    return {
        {"noop-map", "map of a function that does nothing, default settings", "tasks/s",
         rate, 1, {{mp, 3}, {"mpi4py"}, {"dask"}}, 0, 0, 1000},
        {"noop-single", "the same, one task per message, results as they come", "tasks/s",
         rate, 1, {{mp, 3}, {"mpi4py", 25}, {"dask", 100}}, 0, 0, 100},
        {"apply", "one call, there and back, idle pool", "us",
         time, 1e6, {{mp, 1 / 0.3}, {"mpi4py", 1 / 0.15}, {"dask", 100}}, 0, 0, 10},
        {"fiber-lockstep", "5,000 sleeps of 1 ms: submit 5, wait for all 5, again", "s",
         time, 5000, {{"ideal", 1 / 1.2}, {mp, 1}, {"mpi4py"}}, 5000, 5, 5},
        {"fiber-batch", "5,000 sleeps of 1 ms in one map", "s",
         time, 5000, {{"ideal", 1 / 1.15}, {mp, 1}, {"mpi4py"}}, 5000, 5, 5},
        {"sleep-1ms", "map of sleeps of 1 ms", "tasks/s",
         rate, 1, {{"nanosleep", 0.97}, {mp}, {"mpi4py"}, {"dask"}}, 0, 0, 20},
        {"skew", "100 sleeps, one of them 100 times as long (100 ms)", "ms",
         time, 1e5, {{"ideal", 1 / 1.15}, {mp}, {"mpi4py"}, {"dask"}}, 100},
        {"args-64k", "map over arguments of 64 KiB", "MB/s",
         rate, 0.065536, {{mp, 2}, {"mpi4py"}, {"dask"}}, 0, 0, 16},
        {"queue", "strings from one process to another", "1/s",
         rate, 1, {{mp, 3}}, 0, 1, 100},
        {"pipe", "a string there and back between two processes", "us",
         time, 1e6, {{mp, 1 / 0.6}}, 0, 1, 10},
        {"kill-100ms", "sleeps of 1 ms; kill -9 of a worker every 100 ms", "tasks/s",
         rate, 1, {{"no-kills", 0.95}}, 8000, 4},
        {"kill-redispatch", "kill -9 of a worker at a task, until another begins it", "ms",
         time, 1e3, {}, 20},
        {"kill-replacement", "kill -9 of a worker at a task, until its successor is ready", "ms",
         time, 1e3, {}, 20},
        {"master-scale", "the master's work per task, 1,000 simulated workers", "ns",
         time, 1e9, {{"10-workers", 1 / 1.3}}, 100'000, 1000},
        {"master-bytes", "the master's memory per queued task that does nothing", "B",
         time, 1, {{"goal", 1}}, 100'000, 1000},
    };
    // clang-format on
}

}  // namespace

std::vector<Case> const& all_cases() {
    static std::vector<Case> const cases = make_cases();
    return cases;
}

std::vector<Case> parse_cases(std::string const& list) { return chosen_cases(list, all_cases()); }

std::vector<std::string> peer_programs() { return {"multiprocessing", "mpi4py", "dask"}; }

std::vector<std::string> parse_peers(std::string const& list) {
    return chosen_peers(list, peer_programs());
}

}  // namespace sinew::bench
