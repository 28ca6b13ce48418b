// SPDX-License-Identifier: Apache-2.0
// Pools with few descriptors, few processes or little memory, and with a worker that cannot be
// killed.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sinew/pool.hpp>
#include <sinew/pool/range.hpp>
#include <sinew/remote_error.hpp>
#include <system_error>
#include <thread>
#include <vector>

#include "src/base/text.hpp"
#include "tests/pool/chaos/chaos_program.hpp"
#include "tests/pool/chaos/chaos_scenarios.hpp"
#include "tests/pool/tasks.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;

PoolOptions quiet() {
    PoolOptions options;
    options.progress = Progress::off;
    return options;
}

void all_is_right(Pool& pool) {
    auto const results = pool.map<slow_square>(range(0, 1000));
    for (int i = 0; i < 1000; ++i)
        expect(results[static_cast<std::size_t>(i)] == i * i, text("result ", i));
}
int says_and_dies(int) {
    std::cerr << "These are its first words." << std::endl;
    std::this_thread::sleep_for(100ms);
    for (int i = 0; i < 1000; ++i)
        std::cerr << "These are its last words.\n";  // more than one read
    std::_Exit(7);
}
// The first worker writes to standard error while no thread can be started.
void stderr_tail() {
    Pool pool(1, quiet());
    expect(pool.apply<square>(3) == 9, "before");
    std::atomic<bool> full = false, told = false;
    std::jthread hog([&] {
        std::vector<std::jthread> all;
        while (!told) try {
                if (all.size() < 100) all.emplace_back([&] { told.wait(false); });
                else std::this_thread::yield();
            } catch (std::system_error const&) {  // expected
                full = true;
                full.notify_all();
            }
    });
    full.wait(false);
    auto handle = pool.with({.retries = 0}).apply_async<says_and_dies>(0);
    bool const noticed = handle.wait_for(60s);
    told = true;
    told.notify_all();
    hog.join();
    expect(noticed, "nobody has noticed that it died");
    try {
        handle.get();
    } catch (WorkerDied const& died) {
        std::string_view const what = died.what();
        expect(what.find("last words") != what.npos, text("it says ", what));
    }
    expect(pool.apply<square>(3) == 9, "afterwards");
}
// If fewer workers can be started than requested, those do all of the work; a pool without any
// reports why.
void few(std::string_view remedy) {
    {
        Pool pool(4, quiet());
        all_is_right(pool);
        pool.resize(40);
        for (int round = 0; round < 5; ++round) all_is_right(pool);
        auto const stats = pool.stats();
        std::cout << text(stats.ready, " workers, ", stats.started, " started\n");
        expect(stats.ready >= 4 && stats.ready < 40, "as many as ever");
        pool.resize(4);
        all_is_right(pool);
    }
    Pool pool(40, quiet());
    try {
        all_is_right(pool);
    } catch (PoolBroken const& broken) {
        std::cout << broken.what() << std::endl;
        expect(std::string_view(broken.what()).find(remedy) != std::string_view::npos,
               "not a word of the limit");
    }
}

// If that is not possible, it reports why.
void plain() {
    Pool pool(4, quiet());
    all_is_right(pool);
}

int eats_all(int megabytes) {
    std::vector<char> hog(static_cast<std::size_t>(megabytes) << 20, 'x');
    asm volatile("" : : "r"(hog.data()) : "memory");
    return int(hog.back());
}
// The kernel kills the process with the most memory: the worker.
void out_of_memory() {
    Pool pool(2, quiet());
    expect(pool.apply<square>(3) == 9, "before");
    std::vector<int> tasks(50, 1);
    tasks[17] = 2000;
    auto const ends = pool.with({.retries = 1}).map_settled<eats_all>(tasks);
    for (std::size_t i = 0; i < ends.size(); ++i)
        expect(ends[i].has_value() == (i != 17), text("task ", i));
    try {
        ends[17].value();
    } catch (WorkerDied const& died) {
        expect(died.cause() == WorkerDied::Cause::out_of_memory, text("it says ", died.what()));
        expect(died.record().attempt == 2, text(died.record().attempt, " attempts"));
    }
    expect(pool.apply<square>(3) == 9, "afterwards");
}

// A worker that does not end even by SIGKILL, like one that waits for a file server; made with the
// freezer of cgroups of version 1. Its tasks must not be executed elsewhere; all others are.
void stuck() {
    std::string const group = std::getenv("SINEW_TEST_FREEZER");
    Pool pool(3, quiet());
    expect(pool.wait_until_workers_up(), "workers are not up");
    auto const victim = pool.apply<who>(0);
    std::ofstream(group + "/cgroup.procs") << victim << std::flush;
    auto handle = pool.with({.chunk = 1}).map_async<slow_square>(range(0, 2000));
    std::ofstream(group + "/freezer.state") << "FROZEN" << std::flush;
    auto const end = std::chrono::steady_clock::now() + 60s;
    auto const all_but_few = [&] { return pool.stats().done >= 1 + 2000 - 20; };
    while (!all_but_few() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(20ms);
    std::this_thread::sleep_for(6s);  // it is suspected, and SIGKILL has no effect
    bool const went_on = all_but_few(), ended = handle.ready();
    auto const deaths = pool.stats().deaths;
    std::ofstream(group + "/freezer.state") << "THAWED" << std::flush;
    auto const results = handle.get();
    expect(went_on, "the others did not go on");
    expect(!ended && deaths == 0, "it was taken for dead");
    for (int i = 0; i < 2000; ++i)
        expect(results[static_cast<std::size_t>(i)] == i * i, text("result ", i));
    expect(pool.stats().deaths == 1, text(pool.stats().deaths, " deaths"));
}

}  // namespace

bool act_alone(std::string const& name) {
    if (name == "plain") plain();
    else if (name == "few_descriptors") few("ulimit -n");
    else if (name == "few_processes") {
        stderr_tail();
        few("ulimit -u");
    } else if (name == "out_of_memory") out_of_memory();
    else if (name == "soak") soak();
    else if (name == "stuck") stuck();
    else return false;
    std::cout << "all right\n" << std::flush;
    return true;
}

}  // namespace sinew::testing_support
