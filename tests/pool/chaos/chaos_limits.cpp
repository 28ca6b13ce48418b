// SPDX-License-Identifier: Apache-2.0
// Workers that hang, wake up late, are slow, fail repeatedly or run out of resources; a slow
// master.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <iostream>
#include <semaphore>
#include <sinew/pool/range.hpp>
#include <sinew/remote_error.hpp>
#include <sinew/task/codec.hpp>
#include <sinew/this_task.hpp>
#include <thread>

#include "src/base/text.hpp"
#include "tests/pool/chaos/chaos_scenarios.hpp"
#include "tests/pool/tasks.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using Cause = WorkerDied::Cause;

WorkerDied death_in(Settled<int> const& end) {
    try {
        end.value();
    } catch (WorkerDied const& died) {
        return died;
    } catch (std::exception const& other) {
        throw Broken(text("it threw ", other.what()));
    }
    throw Broken("a task that cannot end has ended");
}

// ---- tasks that do not end ---------------------------------------------------------------------

int hangs(int x) {
    if (x == 5)
        for (int volatile i = 0;;) i = i + 1;
    if (x == 15)
        for (;;) std::this_thread::sleep_for(1h);
    if (x == 25) {
        std::binary_semaphore nobody_releases(0);
        nobody_releases.acquire();
    }
    return x;
}
void hang(Pool& pool, std::string const&) {
    auto const ends = pool.with({.hard_limit = 500ms}).map_settled<hangs>(range(0, 40));
    for (int i = 0; i < 40; ++i) {
        auto const& end = ends[static_cast<std::size_t>(i)];
        if (i == 5 || i == 15 || i == 25)
            expect(death_in(end).cause() == Cause::time_limit, text("another cause of ", i));
        else expect(end.has_value() && *end == i, text("task ", i));
    }
}

// ---- stopped processes -------------------------------------------------------------------------

// Another process wakes this one up.
void sleep_as_if_dead(int ms) {
    auto const words =
        text("kill -STOP $0; sleep ", ms / 1000, ".", ms % 1000 / 100, "; kill -CONT $0");
    auto const self = text(::getpid());
    std::array<char const*, 5> const argv{"sh", "-c", words.c_str(), self.c_str(), nullptr};
    pid_t helper = 0;
    if (::posix_spawn(&helper, "/bin/sh", nullptr, nullptr, const_cast<char**>(argv.data()),
                      environ) != 0)
        throw Broken("no shell");
    ::waitpid(helper, nullptr, 0);
}
int stands_still(int x) {
    if (this_task::attempt() > 1) return x;
    if (x == 40) ::raise(SIGSTOP);  // for good
    if (x == 80) sleep_as_if_dead(2500);
    return x;
}
void stop(Pool& pool, std::string const&) {
    auto const results = pool.with({.chunk = 1}).map<stands_still>(range(0, 400));
    for (int i = 0; i < 400; ++i)
        expect(results[static_cast<std::size_t>(i)] == i, text("result ", i));
    auto const stats = pool.stats();
    expect(stats.deaths == 1, text(stats.deaths, " deaths: of one that slept 2.5 s, too?"));
}

void slow_worker(Pool& pool, std::string const&) {
    map_until_deaths(pool, 0, 1200);
    expect(pool.stats().deaths == 0, "a slow worker is called dead");
}

void slow_master(Pool& pool, std::string const&) {
    expect(pool.wait_until_workers_up(), "workers are not up");
    auto handle = pool.map_async<slow_square>(range(0, 2000));
    std::this_thread::sleep_for(100ms);
    sleep_as_if_dead(3000);
    expect(handle.get().size() == 2000, "results are not there");
    auto const stats = pool.stats();
    expect(stats.deaths == 0, text("a slow master calls ", stats.deaths, " dead"));
}

// ---- tasks that end every worker ---------------------------------------------------------------

int bottomless(int depth) {
    std::function<int(int)> const fall = [&](int d) {
        std::array<char volatile, 4096> room{};
        return d == 0 ? int(room[0]) : fall(d - 1) + room[1];
    };
    return fall(depth);
}
int poison(int x) {
    if (x == 777) {
        ::signal(SIGABRT, SIG_DFL);
        std::abort();
    }
    return x == 333 ? bottomless(1'000'000) : x;
}
void poisons(Pool& pool, std::string const&) {
    auto const ends = pool.map_settled<poison>(range(0, 1500));
    for (int i = 0; i < 1500; ++i)
        expect(ends[static_cast<std::size_t>(i)].has_value() == (i != 777 && i != 333),
               text("task ", i));
    for (std::size_t const bad : {333, 777}) {
        auto const died = death_in(ends[bad]);
        expect(died.cause() == Cause::crash, "another cause");
        expect(died.record().task == bad, "another task");
        expect(died.record().attempt == 4, text(died.record().attempt, " attempts"));
        expect(bad == 333 || std::string_view(died.what()).find("signal 6") != std::string::npos,
               died.what());
    }
    expect(pool.stats().deaths == 8, text(pool.stats().deaths, " deaths"));
}

int eats_memory(int megabytes) {
    std::vector<char> hog(static_cast<std::size_t>(megabytes) << 20, 'x');
    asm volatile("" : : "r"(hog.data()) : "memory");  // so that it is resident
    std::this_thread::sleep_for(20s);
    return int(hog.back());
}
void with_little_memory(PoolOptions& options, std::string const&) {
    options.max_rss_per_worker = std::size_t{200} << 20;
}
void too_much_memory(Pool& pool, std::string const&) {
    auto const ends = pool.with({.retries = 0}).map_settled<eats_memory>(std::vector<int>{600});
    expect(death_in(ends[0]).cause() == Cause::out_of_memory, "another cause");
    expect(pool.apply<square>(2) == 4, "the pool goes on");
}

// ---- values that cannot be encoded or decoded --------------------------------------------------

struct Fragile {
    int x = 0;
    void encode_to(Writer& writer) const {
        if (x == 13) throw std::length_error("13 does not travel");
        encode(writer, x);
    }
    static Fragile decode_from(Reader& reader) {
        Fragile value{decode<int>(reader)};
        if (value.x == 17) throw DecodeError("17 is no value");
        return value;
    }
};
Fragile fragile(int x) { return {x}; }
int takes_fragile(Fragile const& value) { return value.x; }

// Values after such a value in the same message are lost, too, since their start is unknown.
void bad_data(Pool& pool, std::string const&) {
    auto const alone = pool.with({.chunk = 1});
    auto const ends = alone.map_settled<fragile>(range(0, 100));
    for (std::size_t i = 0; i < ends.size(); ++i)
        expect(ends[i].has_value() == (i != 13 && i != 17), text("result ", i));
    expect(what_is_thrown([&] { ends[13].value(); }).find("does not travel") != std::string::npos,
           "another error of a result that is not encoded");
    expect(what_is_thrown([&] { ends[17].value(); }).find("no value") != std::string::npos,
           "another error of a result that is not decoded");
    std::vector<Fragile> inputs;
    for (int i = 14; i < 50; ++i) inputs.push_back({i});
    auto const taken = alone.map_settled<takes_fragile>(inputs);
    for (std::size_t i = 0; i < taken.size(); ++i)
        expect(taken[i].has_value() == (i != 3), text("argument ", i));
    auto const together = pool.map_settled<fragile>(range(14, 1000));
    expect(together[0].has_value() && !together[3].has_value(), "where a message is spoilt");
    map_until_deaths(pool, 0, 100);
    expect(pool.stats().deaths == 0, "somebody has died of it");
}

// ---- shortages ---------------------------------------------------------------------------------

void with_a_full_disk(PoolOptions& options, std::string const&) { options.events = "/dev/full"; }
void full_disk(Pool& pool, std::string const&) { map_until_deaths(pool, 0, 300); }

void sleeps_first() { std::this_thread::sleep_for(800ms); }
void with_slow_starts(PoolOptions& options, std::string const&) {
    options.initializer = initializer<sleeps_first>();
}
void slow_start(Pool& pool, std::string const&) {
    map_until_deaths(pool, 0, 300);
    expect(pool.stats().deaths == 0, "who starts slowly is called dead");
}

void churn(Pool& pool, std::string const&) {
    auto handle = pool.map_async<slow_square>(range(0, 2000));
    for (int round = 0; !handle.ready(); ++round) {
        pool.resize(round % 2 == 0 ? 8 : 1);
        std::this_thread::sleep_for(100ms);
    }
    auto const results = handle.get();
    for (int i = 0; i < 2000; ++i)
        expect(results[static_cast<std::size_t>(i)] == i * i, text("result ", i));
}

// ---- the master is killed -----------------------------------------------------------------------

int naps(int x) {
    std::this_thread::sleep_for(40s);
    return x;
}
int naps_with_another(int x) {
    if (::fork() == 0) {
        ::execl("/bin/sleep", "sleep", "40", nullptr);
        ::_exit(127);
    }
    return naps(x);
}
template <auto F>
void hold(Pool& pool, std::string const&) {
    expect(pool.wait_until_workers_up(), "workers are not up");
    auto const handle = pool.map_async<F>(range(0, 4));
    std::this_thread::sleep_for(300ms);
    std::cout << "at work" << std::endl;
    std::this_thread::sleep_for(40s);
}

constexpr Havoc::Plan throttled{.kind = Havoc::Plan::Kind::throttle};

}  // namespace

std::vector<Scenario> const& limit_scenarios() {
    static std::vector<Scenario> const all{
        {.name = "hang", .act = hang},
        {.name = "stop", .act = stop},
        {.name = "slow_worker", .act = slow_worker, .havoc = throttled},
        {.name = "slow_master", .act = slow_master},
        {.name = "poison", .act = poisons},
        {.name = "memory", .act = too_much_memory, .options = with_little_memory},
        {.name = "bad_data", .act = bad_data},
        {.name = "full_disk", .act = full_disk, .options = with_a_full_disk},
        {.name = "slow_start", .act = slow_start, .options = with_slow_starts},
        {.name = "churn", .act = churn},
    };
    return all;
}

std::vector<Scenario> const& endless_scenarios() {
    static std::vector<Scenario> const all{
        {.name = "hold", .act = hold<naps>},
        {.name = "hold_with_others", .act = hold<naps_with_another>},
    };
    return all;
}

}  // namespace sinew::testing_support
