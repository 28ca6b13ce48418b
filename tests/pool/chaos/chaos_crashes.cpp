// SPDX-License-Identifier: Apache-2.0
// Workers that die in every way, at the worst moments.
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sinew/pool/range.hpp>
#include <sinew/remote_error.hpp>
#include <sinew/this_task.hpp>
#include <thread>

#include "src/base/text.hpp"
#include "tests/pool/chaos/chaos_scenarios.hpp"
#include "tests/pool/tasks.hpp"

namespace sinew::testing_support {

using namespace std::chrono_literals;

void expect(bool holds, std::string const& what) {
    if (!holds) throw Broken(what);
}

int slow_square(int x) {
    std::this_thread::sleep_for(1ms);
    return x * x;
}

void map_until_deaths(Pool& pool, unsigned deaths, int tasks) {
    for (int round = 0; round < 40; ++round) {
        auto const results = pool.with({.retries = 1000}).map<slow_square>(range(0, tasks));
        expect(results.size() == static_cast<std::size_t>(tasks), "results are not there");
        for (int i = 0; i < tasks; ++i)
            expect(results[static_cast<std::size_t>(i)] == i * i, text("result ", i));
        if (pool.stats().deaths >= deaths) return;
    }
    expect(false, text("only ", pool.stats().deaths, " deaths"));
}

namespace {

using Kind = Havoc::Plan::Kind;

void die_of(int number) {
    ::signal(number, SIG_DFL);  // sanitizers catch some
    ::raise(number);
}
struct ExitsWhenItGoes {
    ~ExitsWhenItGoes() { std::exit(3); }
};

constexpr int kinds = 8;

// Every tenth of the first tasks ends its worker in another way at its first execution.
int dies_at_first(int x) {
    if (x % 10 != 5 || this_task::attempt() > 1) return x;
    switch (x / 10) {
        case 0:
            die_of(SIGSEGV);
            break;
        case 1:
            die_of(SIGABRT);
            break;
        case 2:
            ::_exit(0);
        case 3: {
            ExitsWhenItGoes const last;
            break;
        }
        case 4:
            std::thread([] { die_of(SIGUSR2); }).join();
            break;
        case 5:
            std::thread([] { throw std::runtime_error("nobody catches it"); }).join();
            break;
        case 6:
            die_of(SIGKILL);
            break;
        case 7:
            die_of(SIGTERM);
            break;
        default:
            break;
    }
    return x;
}

std::vector<int> numbers(int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

void crash(Pool& pool, std::string const&) {
    expect(pool.with({.retries = 1}).map<dies_at_first>(numbers(200)) == numbers(200), "results");
    auto const stats = pool.stats();
    expect(stats.deaths == kinds, text(stats.deaths, " deaths of ", kinds));
}

void killed_all_the_time(Pool& pool, std::string const&) { map_until_deaths(pool, 6, 1000); }

void killed_in_streams(Pool& pool, std::string const&) {
    for (int round = 0; round < 20 && pool.stats().deaths < 2; ++round) {
        std::vector<int> seen(1000);
        for (auto const x :
             pool.with({.retries = 1000}).imap_unordered<slow_square>(range(0, 1000)))
            ++seen.at(static_cast<std::size_t>(std::lround(std::sqrt(x))));
        expect(seen == std::vector<int>(1000, 1), "a result is not there, or twice");
    }
    expect(pool.stats().deaths > 0, "nobody has died");
}

void all_at_once(Pool& pool, std::string const&) {
    expect(pool.wait_until_workers_up(), "workers are not up");
    map_until_deaths(pool, 8, 1000);
}

// Harmless tasks are not blamed for the deaths of their workers: none of them has used up its one
// retry, however often other tasks end the same worker.
int poisoned(int x) {
    if (x % 50 == 7) die_of(SIGKILL);
    return x;
}
void innocents(Pool& pool, std::string const&) {
    auto const ends = pool.with({.retries = 0}).map_settled<poisoned>(range(0, 500));
    for (std::size_t i = 0; i < ends.size(); ++i)
        expect(ends[i].has_value() == (i % 50 != 7), text("task ", i, " bears another's blame"));
    expect(pool.stats().deaths == 10, text(pool.stats().deaths, " deaths"));
}

std::size_t lines_of_file(std::string const& path) {
    std::ifstream file(path);
    std::size_t lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
}

void dies_thrice(std::string const& ledger) {
    note(ledger, 1);
    if (lines_of_file(ledger) <= 3) die_of(SIGKILL);
}
void with_a_deadly_initializer(PoolOptions& options, std::string const& ledger) {
    options.initializer = initializer<dies_thrice>(ledger);
}
void in_the_initializer(Pool& pool, std::string const& ledger) {
    map_until_deaths(pool, 0, 200);
    expect(lines_of_file(ledger) > 3, "nobody has died in the initializer");
}

void always_dies(std::string const&) { die_of(SIGSEGV); }
void with_a_hopeless_initializer(PoolOptions& options, std::string const& ledger) {
    options.initializer = initializer<always_dies>(ledger);
    options.failing_starts = 3;
}
void never_starts(Pool& pool, std::string const&) {
    try {
        pool.map<slow_square>(range(0, 10));
        expect(false, "a pool without workers has results");
    } catch (PoolBroken const& broken) {
        expect(std::string(broken.what()).find("signal 11") != std::string::npos, broken.what());
    }
}

void with_worn_workers(PoolOptions& options, std::string const&) {
    options.max_tasks_per_worker = 20;
}

constexpr std::size_t all_of_them = 1000;

}  // namespace

std::vector<Scenario> const& crash_scenarios() {
    static std::vector<Scenario> const all{
        {.name = "crash", .act = crash},
        {.name = "kill_20ms",
         .act = killed_all_the_time,
         .havoc = {.kind = Kind::kill, .period = 20ms}},
        {.name = "kill_100ms",
         .act = killed_all_the_time,
         .havoc = {.kind = Kind::kill, .period = 100ms}},
        {.name = "kill_in_streams",
         .act = killed_in_streams,
         .havoc = {.kind = Kind::kill, .period = 50ms}},
        {.name = "kill_two",
         .act = killed_all_the_time,
         .havoc = {.kind = Kind::kill, .period = 100ms, .victims = 2}},
        {.name = "kill_all",
         .act = all_at_once,
         .havoc = {.kind = Kind::kill, .period = 300ms, .victims = all_of_them}},
        {.name = "kill_while_replaced",
         .act = killed_all_the_time,
         .options = with_worn_workers,
         .havoc = {.kind = Kind::kill, .period = 30ms}},
        {.name = "innocents", .act = innocents},
        {.name = "initializer_crash",
         .act = in_the_initializer,
         .options = with_a_deadly_initializer},
        {.name = "never_starts", .act = never_starts, .options = with_a_hopeless_initializer},
    };
    return all;
}

}  // namespace sinew::testing_support
