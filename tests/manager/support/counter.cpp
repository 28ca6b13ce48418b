// SPDX-License-Identifier: Apache-2.0
#include "tests/manager/support/counter.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace sinew::testing_support {

Counter::Counter(std::string name, int first) : value_(first), name_(std::move(name)) {
    if (first < 0) throw std::invalid_argument("a negative counter");
}

Counter::~Counter() {
    if (!note_.empty()) std::ofstream(note_, std::ios::app) << "ended\n";
}

void Counter::fail(std::string const& what) { throw std::out_of_range(what); }

int Counter::slowly(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return ++value_;
}

std::pair<std::int64_t, std::int64_t> Counter::interval(int milliseconds) {
    auto const now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
    auto const begin = now();
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return {begin, now()};
}

int Counter::pid() const { return ::getpid(); }

int Counter::usable_cores() const {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    ::sched_getaffinity(0, sizeof mine, &mine);
    return CPU_COUNT(&mine);
}

void Counter::die() { ::raise(SIGKILL); }

int Counter::crowd(int milliseconds) {
    static std::atomic<int> inside{0}, most{0};
    int const now = ++inside;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    --inside;
    return most;
}

}  // namespace sinew::testing_support
