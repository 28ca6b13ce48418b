// SPDX-License-Identifier: Apache-2.0
//
// Workers of a pool of this process die. Every result must be present, right and counted once. More
// tests, under every launcher: chaos_jobs_test.cpp.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <random>
#include <sinew/pool.hpp>
#include <sinew/this_task.hpp>
#include <thread>

#include "src/base/job_folder.hpp"
#include "src/base/text.hpp"
#include "tests/pool/pool_fixture.hpp"
#include "tests/pool/tasks.hpp"
#include "tests/support/alternative_main.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

using Chaos = PoolTest;
using Poison = PoolTest;

std::vector<pid_t> workers() {
    std::vector<pid_t> found;
    for (auto const& each : descendants_of(::getpid()))
        if (each.parent == ::getpid() && each.state != 'Z') found.push_back(each.pid);
    return found;
}

/// Sends signals to random workers of a pool during its lifetime: once per period, but only when the
/// pool has finished tasks since the last signal. Where workers start more slowly than they are
/// killed, no task would ever be finished.
class Killer {
public:
    Killer(Pool const& pool, std::chrono::milliseconds period, int number)
        : thread_([this, &pool, period, number] {
              std::mt19937 random(4711);
              auto finished = pool.stats().done;
              while (!done_) {
                  std::this_thread::sleep_for(period);
                  if (pool.stats().done < finished + 50) continue;
                  finished = pool.stats().done;
                  if (auto const victims = workers(); !victims.empty())
                      ::kill(victims[random() % victims.size()], number);
              }
          }) {}
    ~Killer() {
        done_ = true;
        thread_.join();
    }

private:
    std::atomic<bool> done_ = false;
    std::thread thread_;
};

int slow_square(int x) {
    std::this_thread::sleep_for(1ms);
    return x * x;
}

TaskOptions const patient{.retries = 1000};

struct Pace {
    std::chrono::milliseconds period;
    int number;
};
class KilledWorkers : public PoolTest, public testing::WithParamInterface<Pace> {};

// G1, G2
TEST_P(KilledWorkers, LoseNothing) {
    Pool pool(4, sturdy());
    pool.apply<square>(1);
    Killer killer(pool, GetParam().period, GetParam().number);
    // On a busy machine the killer comes late.
    for (int round = 0; round < 20 && pool.stats().deaths < 2; ++round) {
        auto const results = pool.with(patient).map<slow_square>(sinew::range(0, 2000));
        ASSERT_EQ(results.size(), 2000U);
        for (int i = 0; i < 2000; ++i) ASSERT_EQ(results[i], i * i);
    }
    EXPECT_GE(pool.stats().deaths, 2U);
}

TEST_P(KilledWorkers, LoseNothingOfAStream) {
    Pool pool(3, sturdy());
    pool.apply<square>(1);
    Killer killer(pool, GetParam().period, GetParam().number);
    std::vector<int> seen(1500);
    for (auto const result : pool.with(patient).imap_unordered<slow_square>(sinew::range(0, 1500)))
        ++seen.at(static_cast<std::size_t>(std::lround(std::sqrt(result))));
    EXPECT_THAT(seen, Each(1));
    EXPECT_GT(pool.stats().deaths, 0U);
}

INSTANTIATE_TEST_SUITE_P(Paces, KilledWorkers,
                         testing::Values(Pace{20ms, SIGKILL}, Pace{50ms, SIGSEGV},
                                         Pace{50ms, SIGABRT}, Pace{50ms, SIGTERM}),
                         [](auto const& pace) {
                             return text("signal", pace.param.number, "every",
                                         pace.param.period.count(), "ms");
                         });

TEST_F(Chaos, NoOpTasksUnderFire) {
    Pool pool(3, sturdy());
    pool.apply<square>(1);
    Killer killer(pool, 50ms, SIGKILL);
    for (int round = 0; round < 10; ++round) {
        auto const results = pool.with(patient).map<square>(sinew::range(0, 200'000));
        for (int i = 0; i < 200'000; i += 777) ASSERT_EQ(results[i], square(i));
    }
    EXPECT_GT(pool.stats().deaths, 0U);
}

// G10: a worker that dies before it has sent anything.
TEST_F(Chaos, DeathsAtTheStart) {
    Pool pool(3, quiet());
    auto handle = pool.with(patient).map_async<slow_square>(sinew::range(0, 300));
    for (int round = 0; round < 10; ++round) {
        for (auto const pid : workers()) ::kill(pid, SIGKILL);
        std::this_thread::sleep_for(1ms);
    }
    try {
        EXPECT_EQ(handle.get().size(), 300U);
    } catch (PoolBroken const& broken) {
        // So many deaths without a finished task break the pool, which reports it and ends.
        EXPECT_THAT(broken.what(), HasSubstr("killed by signal 9"));
    }
}

TEST_F(Poison, FailsAloneAfterItsRetries) {
    Pool pool(3, quiet());
    for (int const number : {SIGABRT, SIGSEGV, SIGKILL}) {
        std::vector<std::tuple<int, int, int>> tasks;
        for (int x = 0; x < 1500; ++x) tasks.emplace_back(x, 777, number);
        auto const outcomes = pool.map_settled(
            [](std::tuple<int, int, int> const& t) {
                return suicide_at(std::get<0>(t), std::get<1>(t), std::get<2>(t));
            },
            tasks);
        for (int i = 0; i < 1500; ++i) ASSERT_EQ(outcomes[i].has_value(), i != 777) << i;
        try {
            outcomes[777].value();
            FAIL();
        } catch (WorkerDied const& died) {
            EXPECT_EQ(died.cause(), WorkerDied::Cause::crash);
            EXPECT_EQ(died.record().task, 777U);
            EXPECT_EQ(died.record().attempt, 4U) << "one more than the retries";
            EXPECT_THAT(died.what(), HasSubstr(text("signal ", number)));
        }
    }
}

TEST_F(Poison, LeavingIsDyingToo) {
    Pool pool(2, quiet());
    EXPECT_THROW(pool.with({.retries = 1}).apply<leave_at>(5, 5, 0), WorkerDied);
    try {
        pool.with({.retries = 0}).apply([](int code) { std::exit(code); }, 3);
        FAIL();
    } catch (WorkerDied const& died) {
        EXPECT_THAT(died.what(), HasSubstr("exited with code 3"));
        EXPECT_EQ(died.record().attempt, 1U);
    }
}

TEST_F(Poison, TheLastWordsAreTold) {
    Pool pool(1, quiet());
    try {
        pool.with({.retries = 0})
            .apply(
                [](int) {
                    std::fputs("out of paper\n", stderr);
                    std::abort();
                },
                0);
        FAIL();
    } catch (WorkerDied const& died) {
        EXPECT_THAT(died.what(), HasSubstr("out of paper"));
    }
}

TEST_F(Poison, AtMostOnceIsNotRunAgain) {
    Ledger const ledger("once");
    Pool pool(2, quiet());
    auto const once = pool.with({.at_most_once = true});
    std::vector<std::pair<std::string, int>> inputs;
    for (int i = 0; i < 60; ++i) inputs.emplace_back(ledger.path(), i);
    auto const outcomes = once.map_settled(
        [](std::pair<std::string, int> const& task) {
            note(task.first, task.second);
            if (task.second % 10 == 3) ::raise(SIGKILL);
            return task.second;
        },
        inputs);
    auto const counts = ledger.counts(60);
    for (int i = 0; i < 60; ++i) {
        EXPECT_LE(counts[i], 1) << i;
        if (outcomes[i].has_value()) {
            EXPECT_EQ(*outcomes[i], i);
            continue;
        }
        try {
            outcomes[i].value();
        } catch (WorkerDied const& died) {
            EXPECT_TRUE(died.maybe_executed()) << i;
        }
    }
    EXPECT_FALSE(outcomes[3].has_value());
    EXPECT_TRUE(outcomes[4].has_value()) << "not begun when its worker died";
}

TEST_F(Poison, SoftLimitsAskToStop) {
    Pool pool(1, quiet());
    EXPECT_TRUE(pool.with({.soft_limit = 100ms})
                    .apply(
                        [](int) {
                            for (int i = 0; i < 10'000 && !this_task::stop_token().stop_requested();
                                 ++i)
                                std::this_thread::sleep_for(1ms);
                            return this_task::stop_token().stop_requested();
                        },
                        0));
}

// Stopped by Ctrl-Z or a debugger: its workers are in separate process groups and continue.
TEST_F(Chaos, WorkersOutliveAStopOfTheirMaster) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    pid_t const master = ::fork();
    if (master == 0) {
        auto const end = text(pipe[1]);
        ::execl("/proc/self/exe", "pool_tests", "--be-a-stopped-master", end.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(pipe[1]);
    char byte = 0;
    ASSERT_EQ(::read(pipe[0], &byte, 1), 1);
    ASSERT_TRUE(stop_process(master));
    std::this_thread::sleep_for(8s);  // longer than a worker's default lease of 5 s
    ::kill(master, SIGCONT);
    int status = 0;
    ::waitpid(master, &status, 0);
    ::close(pipe[0]);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// A pool whose task takes longer than a worker on another host continues without its master; for a
// test that stops the master meanwhile.
int be_a_stopped_master(int, char** argv) {
    Pool pool(1);
    TaskOptions once;
    once.at_most_once = true;
    pool.wait_until_workers_up();
    auto const result = pool.with(once).apply_async(
        [](int answer) {
            std::this_thread::sleep_for(9s);
            return answer;
        },
        42);
    std::this_thread::sleep_for(100ms);
    if (::write(std::atoi(argv[2]), "!", 1) != 1) return 2;
    return result.get() == 42 ? 0 : 1;
}

testing_support::AlternativeMain const stopped_master_main("--be-a-stopped-master",
                                                           be_a_stopped_master);

// A pool at work, for a test that kills it: it writes a byte when its workers have started.
int be_a_master(int, char** argv) {
    int const end = std::atoi(argv[2]);
    Pool pool(2);
    pool.wait_until_workers_up();
    auto const hold = pool.map_async(
        [](int fd) {
            std::this_thread::sleep_for(60s);
            return fd;
        },
        std::vector(2, end));
    std::this_thread::sleep_for(100ms);
    if (::write(end, "!", 1) != 1) return 1;
    hold.wait();
    return 0;
}

testing_support::AlternativeMain const master_main("--be-a-master", be_a_master);

// G22 (Fiber): if the master dies, no process remains (verified by this process's leak check).
TEST_F(Chaos, WorkersDieWithTheirMaster) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    pid_t const master = ::fork();
    if (master == 0) {
        auto const end = text(pipe[1]);
        ::execl("/proc/self/exe", "pool_tests", "--be-a-master", end.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(pipe[1]);
    char byte = 0;
    ASSERT_EQ(::read(pipe[0], &byte, 1), 1) << "its workers are at work";
    ::kill(master, SIGKILL);
    ::waitpid(master, nullptr, 0);
    ASSERT_EQ(::read(pipe[0], &byte, 1), 0) << "nobody holds the pipe any more";
    ::close(pipe[0]);
    // A killed process cannot remove its folder: the next sinew process on this machine does.
    remove_stale_folders();
}

}  // namespace
}  // namespace sinew::testing_support
