// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/manager/cases.hpp"

namespace sinew::bench {

std::vector<Case> const& manager_cases() {
    constexpr bool rate = true, time = false;
    constexpr std::string_view mp = "multiprocessing", grpc = "grpc";
    // clang-format off
    static std::vector<Case> const cases{
        {"sync", "a call of a method that adds, there and back", "us",
         time, 1e6, {{mp, 1 / 0.7}, {grpc, 1 / 0.2}}, 0, 1, 100},
        {"async", "the same calls, many under way at a time", "calls/s",
         rate, 1, {{mp, 10}, {grpc, 20}}, 0, 1, 1000},
        {"demo", "simulators step by step, all of them at once", "s",
         time, 5000, {{"sync", 2.2}, {mp}}, 5000, 4},
        {"device", "the same with steps that wait for a device", "s",
         time, 5000, {{"sync", 2.2}, {mp}}, 5000, 4},
    };
    // clang-format on
    return cases;
}

std::vector<Case> parse_manager_cases(std::string const& list) {
    return chosen_cases(list, manager_cases());
}

std::vector<std::string> manager_peers() { return {"multiprocessing", "grpc"}; }

std::vector<std::string> parse_manager_peers(std::string const& list) {
    return chosen_peers(list, manager_peers());
}

Case resized_demo(Case demo, int managers, int steps) {
    demo.workers = managers;
    demo.size = static_cast<std::uint64_t>(steps);
    demo.scale = steps;  // the value is the time of all steps
    return demo;
}

}  // namespace sinew::bench
