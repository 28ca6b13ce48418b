// SPDX-License-Identifier: Apache-2.0
// A program in a pod that acquires further pods: `pool_program WHAT NODES CPUS`. It checks, prints what the test compares,
// and ends with 0, or with 9 after a line "WRONG".
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <sinew/sinew.hpp>
#include <string>
#include <thread>

#include "src/base/text.hpp"

namespace {

using namespace std::chrono_literals;
using namespace sinew;
using Clock = std::chrono::steady_clock;

void check(bool holds, std::string const& what) {
    if (holds) return;
    std::cout << "WRONG: " << what << std::endl;
    std::_Exit(9);
}
void say(std::string const& line) { std::cout << line << std::endl; }
double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}
std::string variable(char const* name) {
    char const* const value = std::getenv(name);
    return value != nullptr ? value : "";
}
// A pod's host has its name.
std::string pod_here() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}
int square(int x) { return x * x; }

NodesOptions options(int count, int cpu) {
    return {.count = count, .meta = {.cpu = cpu}, .start_timeout = 30s};
}

// 10^5 tasks, while the test deletes pods.
void map_tasks(int count, int cpu) {
    auto const nodes = Nodes::acquire(options(count, cpu));
    Pool pool(nodes, {.progress = Progress::off});
    say("begins");
    constexpr int tasks = 100'000;
    auto const slow = [](int x) {
        std::this_thread::sleep_for(200us);
        return x * static_cast<std::uint64_t>(x);
    };
    auto const begin = Clock::now();
    auto const squares = pool.map(slow, range(0, tasks));
    auto const took = since(begin);
    std::uint64_t sum = 0;
    for (int i = 0; i < tasks; ++i) {
        auto const each = squares[static_cast<std::size_t>(i)];
        check(each == i * static_cast<std::uint64_t>(i), text("task ", i));
        sum += each;
    }
    auto const stats = pool.stats();
    check(stats.done == tasks && stats.failed == 0, text(stats.done, " done"));
    say(text("checksum ", sum));
    say(text(took, " s, ", stats.retried, " tasks retried, ", stats.started, " workers started, ",
             nodes.changes(), " changes of nodes"));
}

// When all workers are there.
void start(int count, int cpu) {
    auto const begin = Clock::now();
    auto asked = options(count, cpu);
    asked.minimum = count;
    auto const nodes = Nodes::acquire(asked);
    auto const joined = since(begin);
    Pool pool(nodes, {.progress = Progress::off});
    check(pool.wait_until_workers_up(), "workers come up");
    check(pool.stats().workers == count * cpu, text(pool.stats().workers, " workers"));
    say(text("nodes have joined after ", joined, " s, workers are ready after ", since(begin),
             " s"));
}

class Counter {
public:
    int add(int more) { return value_ += more; }
    std::string host() const { return pod_here(); }

private:
    int value_ = 0;
};

// A manager lives in another pod.
void use_manager(int count, int cpu) {
    auto const nodes = Nodes::acquire(options(count, cpu));
    Manager manager({.node = nodes[0]});
    auto const counter = manager.create<Counter>();
    check(counter.call<&Counter::add>(5) == 5 && counter.call<&Counter::add>(2) == 7, "an object");
    check(counter.call<&Counter::host>() == nodes[0].host(), "its host");
    say("manager in " + nodes[0].host());
}

struct Members {
    static void reduce(RingMember& me) {
        check(me.communicator().allreduce_value(me.rank(), sum) == me.size() * (me.size() - 1) / 2,
              "a sum over all");
    }
};

void use_ring(int count, int cpu) {
    auto asked = options(count, cpu);
    asked.minimum = count;
    auto const nodes = Nodes::acquire(asked);
    auto const statuses = Ring(count * cpu, task<&Members::reduce>, {.nodes = nodes.all()}).run();
    std::set<std::string> hosts;
    for (auto const& each : statuses) hosts.insert(each.host);
    check(static_cast<int>(hosts.size()) == count, text(hosts.size(), " hosts"));
    say(text("ring of ", statuses.size(), " members in ", hosts.size(), " pods"));
}

// Work starts with the first pod; the pool becomes larger and smaller with its nodes.
void resize(int count, int cpu) {
    auto nodes = Nodes::acquire(options(count, cpu));
    Pool pool(nodes, {.progress = Progress::off});
    auto const squares = [&] {
        check(pool.map<square>(range(0, 2000))[1999] == 1999 * 1999, "squares");
    };
    auto const workers = [&](int wanted) {
        auto const begin = Clock::now();
        while (pool.stats().ready != wanted || pool.stats().workers != wanted) {
            check(since(begin) < 20, text(pool.stats().workers, " workers, not ", wanted));
            std::this_thread::sleep_for(5ms);
        }
        squares();
        say(text("workers ", wanted));
    };
    squares();
    say(text("squares by ", nodes.size(), " of ", count, " nodes"));
    workers(count * cpu);
    nodes.resize(1);
    workers(cpu);
    nodes.resize(2);
    workers(2 * cpu);
}

// Pods that fit nowhere.
void never(int count, int cpu) {
    auto asked = options(count, cpu);
    asked.meta.gpu = 99;
    asked.start_timeout = 2s;
    asked.minimum = 0;
    auto const nodes = Nodes::acquire(asked);
    Pool pool(nodes, {.progress = Progress::off});
    try {
        pool.map<square>(range(0, 10));
        check(false, "pods with 99 GPUs have come");
    } catch (Error const& error) {
        say(text("error: ", error.what()));
    }
}

// What the workers see.
std::string see(int) {
    return text(pod_here(), " ", variable("SINEW_TEST_VARIABLE"), " ",
                ::access("/persistent/mark", R_OK) == 0 ? "volume" : "no volume");
}
void same(int count, int cpu) {
    auto asked = options(count, cpu);
    asked.minimum = count;
    auto const nodes = Nodes::acquire(asked);
    Pool pool(nodes, {.progress = Progress::off});
    // One worker may take all tasks before the other is ready.
    std::set<std::string> seen;
    auto const end = std::chrono::steady_clock::now() + 30s;
    while (static_cast<int>(seen.size()) < count && std::chrono::steady_clock::now() < end)
        for (auto const& each : pool.map<see>(range(0, 200))) seen.insert(each);
    for (auto const& each : seen) say("worker " + each);
    say("waiting");
    std::this_thread::sleep_for(1h);
}

}  // namespace

int main(int argc, char** argv) {
    init(argc, argv);
    std::string const what = argc == 4 ? argv[1] : "";
    int const count = argc == 4 ? std::atoi(argv[2]) : 0;
    int const cpu = argc == 4 ? std::atoi(argv[3]) : 0;
    std::map<std::string, void (*)(int, int)> const runs{
        {"map", map_tasks}, {"start", start},   {"manager", use_manager},
        {"ring", use_ring}, {"resize", resize}, {"never", never},
        {"same", same}};
    try {
        if (auto const run = runs.find(what); run != runs.end()) return run->second(count, cpu), 0;
    } catch (std::exception const& error) {
        check(false, error.what());
    }
    std::cerr << "pool_program WHAT NODES CPUS\n";
    return 2;
}
