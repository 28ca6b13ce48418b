// SPDX-License-Identifier: Apache-2.0
// Objects that outlive the runtime because they have static storage duration, and objects in a fork
// of their process: their destructors return, and calls are refused.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <sinew/manager.hpp>
#include <sinew/pipe.hpp>
#include <sinew/pool.hpp>
#include <sinew/process.hpp>
#include <sinew/queue.hpp>
#include <sinew/shared.hpp>
#include <sinew/wait.hpp>
#include <string>
#include <thread>
#include <vector>

namespace sinew {
namespace {

using namespace std::chrono_literals;
using testing::ExitedWithCode;
using testing::HasSubstr;
using testing::Not;

constexpr unsigned longest_life = 100;  // seconds; such a process must end by itself

int sleep_long(int seconds) {
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    return seconds;
}
int plus_one(int x) { return x + 1; }
void pause_for_ever() {
    for (;;) ::pause();
}
Queue<int> queue_of_a_worker(int item) {
    static Queue<int> queue;
    queue.put(item);
    return queue;
}

struct Sum {
    int value = 0;
    int add(int more) { return value += more; }
    int hang() {
        pause_for_ever();
        return 0;
    }
};

PoolOptions quietly() {
    PoolOptions options;
    options.progress = Progress::off;
    return options;
}

/// Destroyed after the static objects that main() or its callees construct.
struct Statics {
    std::unique_ptr<Pool> pool;
    std::unique_ptr<AsyncResult<std::vector<int>>> result;
    std::unique_ptr<ResultStream<int>> stream;
    std::unique_ptr<Process> process;
    std::unique_ptr<Queue<int>> queue, remote_queue;
    std::unique_ptr<std::pair<PipeEnd<int>, PipeEnd<int>>> pipe;
    std::unique_ptr<Shared<std::string>> shared;
    std::unique_ptr<Manager> manager;
    std::unique_ptr<Object<Sum>> object;
};
Statics statics;

// Runs in a separate process, which is killed if it does not end.
void leave_main_with(std::function<void()> const& make) {
    ::alarm(longest_life);
    make();
    std::exit(0);
}

struct StaticObjects : testing::Test {
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(StaticObjects, AnIdlePoolEndsWithTheProgram) {
    EXPECT_EXIT(leave_main_with([] {
                    statics.pool = std::make_unique<Pool>(2, quietly());
                    statics.pool->map<plus_one>(range(0, 100));
                }),
                ExitedWithCode(0), Not(HasSubstr("executed again")));
}

// Also for a pool that is not destroyed, after exit(): the end of its workers is not a failure.
TEST_F(StaticObjects, APoolAtWorkEndsWithTheProgram) {
    EXPECT_EXIT(leave_main_with([] {
                    statics.pool = std::make_unique<Pool>(2, quietly());
                    statics.pool->wait_until_workers_up();
                    statics.result = std::make_unique<AsyncResult<std::vector<int>>>(
                        statics.pool->map_async<sleep_long>(std::vector(50, 1000)));
                }),
                ExitedWithCode(0),
                AllOf(Not(HasSubstr("executed again")), HasSubstr("50 tasks under way")));
    EXPECT_EXIT(leave_main_with([] {
                    Pool pool(2, quietly());
                    pool.wait_until_workers_up();
                    auto const result = pool.map_async<sleep_long>(std::vector(50, 1000));
                    std::this_thread::sleep_for(50ms);
                    std::exit(0);
                }),
                ExitedWithCode(0), Not(HasSubstr("executed again")));
    EXPECT_EXIT(leave_main_with([] {
                    statics.pool = std::make_unique<Pool>(2, quietly());
                    statics.stream = std::make_unique<ResultStream<int>>(
                        statics.pool->imap<sleep_long>(std::vector(50, 1000)));
                }),
                ExitedWithCode(0), Not(HasSubstr("executed again")));
}

TEST_F(StaticObjects, AProcessEndsWithTheProgram) {
    EXPECT_EXIT(leave_main_with([] {
                    statics.process = std::make_unique<Process>(task<pause_for_ever>);
                    statics.process->start();
                }),
                ExitedWithCode(0), "");
}

TEST_F(StaticObjects, QueuesPipesAndSharedObjectsEndWithTheProgram) {
    EXPECT_EXIT(
        leave_main_with([] {
            statics.queue = std::make_unique<Queue<int>>();
            statics.queue->put(1);
            statics.pool = std::make_unique<Pool>(1, quietly());
            statics.remote_queue =
                std::make_unique<Queue<int>>(statics.pool->apply<queue_of_a_worker>(2));
            statics.remote_queue->get();
            statics.pipe = std::make_unique<std::pair<PipeEnd<int>, PipeEnd<int>>>(pipe<int>());
            statics.shared = std::make_unique<Shared<std::string>>(share(std::string(1000, 'x')));
        }),
        ExitedWithCode(0), "");
}

TEST_F(StaticObjects, AManagerEndsWithTheProgram) {
    EXPECT_EXIT(leave_main_with([] {
                    statics.manager = std::make_unique<Manager>();
                    statics.object = std::make_unique<Object<Sum>>(statics.manager->create<Sum>());
                    statics.object->call<&Sum::add>(3);
                }),
                ExitedWithCode(0), "");
}

// Joined by a destructor that runs after the runtime's end.
TEST_F(StaticObjects, AThreadThatWaitsForAnyOfSeveralEndsWithTheProgram) {
    static struct Waiting {
        ~Waiting() {
            if (thread.joinable()) thread.join();
        }
        std::thread thread;
    } waiting;
    EXPECT_EXIT(leave_main_with([] {
                    statics.manager = std::make_unique<Manager>();
                    auto object = statics.manager->create<Sum>();
                    waiting.thread = std::thread([object] {
                        std::vector<Reply<int>> const replies{object.async<&Sum::hang>(),
                                                              object.async<&Sum::add>(1)};
                        try {
                            wait_any(replies);
                        } catch (Unavailable const&) {}  // unless the manager is lost before
                    });
                    std::this_thread::sleep_for(50ms);
                }),
                ExitedWithCode(0), "");
}

TEST_F(StaticObjects, TasksAfterTheEndAreRefused) {
    struct AfterTheRuntime {
        Pool* pool = nullptr;
        ~AfterTheRuntime() {
            if (pool == nullptr) return;
            try {
                pool->apply<plus_one>(1);
            } catch (UsageError const&) {
                ::_exit(7);
            }
        }
    };
    static AfterTheRuntime late;
    EXPECT_EXIT(leave_main_with([] {
                    late.pool = new Pool(1, quietly());
                    late.pool->apply<plus_one>(1);
                }),
                ExitedWithCode(7), "");
}

// Runs `body` in a fork of this process, which then ends as by a return from main. Returns the exit
// code.
int code_of_fork(std::function<int()> const& body) {
    pid_t const pid = ::fork();
    if (pid == 0) {
        ::alarm(longest_life);
        int code = 99;
        try {
            code = body();
        } catch (std::exception const& problem) {
            ::fprintf(stderr, "in a fork: %s\n", problem.what());
        }
        std::exit(code);
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// Whether the call throws UsageError.
template <class Call>
bool refused(Call const& call) {
    try {
        call();
    } catch (UsageError const&) {
        return true;
    }
    return false;
}

TEST(Forks, OfAPoolNeitherEndNorUseIt) {
    auto pool = std::make_unique<Pool>(2, quietly());
    pool->map<plus_one>(range(0, 100));
    for (bool const busy : {false, true}) {
        auto result = pool->map_async<sleep_long>(std::vector<int>(busy ? 2 : 0, 2));
        auto stream = std::make_optional(pool->imap<plus_one>(range(0, 100)));
        static_cast<void>(*stream->begin());
        EXPECT_EQ(code_of_fork([&] {
                      bool const all = refused([&] { pool->map<plus_one>(range(0, 2)); }) &&
                                       refused([&] { result.wait(); }) &&
                                       refused([&] { pool->stats(); }) &&
                                       refused([&] { Pool(1).apply<plus_one>(1); });
                      stream.reset();
                      pool.reset();
                      return all ? 0 : 1;
                  }),
                  0);
        EXPECT_EQ(code_of_fork([] { return 0; }), 0) << "what is left is not destroyed";
    }
    EXPECT_EQ(pool->apply<plus_one>(1), 2) << "nothing of it was ended there";
}

TEST(Forks, OfAProcessNeitherEndNorUseIt) {
    auto process = std::make_unique<Process>(task<pause_for_ever>);
    process->start();
    EXPECT_EQ(code_of_fork([&] {
                  bool const all = refused([&] { process->kill(); }) &&
                                   refused([&] { process->join(); }) &&
                                   refused([&] { Process(task<pause_for_ever>).start(); });
                  process.reset();
                  return all ? 0 : 1;
              }),
              0);
    EXPECT_TRUE(process->is_alive());
    process->kill();
    process->join();
}

TEST(Forks, OfQueuesAndSharedObjectsNeitherEndNorUseThem) {
    Pool pool(1, quietly());
    auto own = std::make_unique<Queue<int>>();
    auto remote = std::make_unique<Queue<int>>(pool.apply<queue_of_a_worker>(5));
    auto shared = std::make_unique<Shared<std::string>>(share(std::string(1000, 'x')));
    own->put(1);
    auto reserved = std::make_unique<Reserved<int>>(own->reserve());
    EXPECT_EQ(code_of_fork([&] {
                  bool const all = refused([&] { own->put(2); }) && refused([&] { own->get(); }) &&
                                   refused([&] { remote->get(); }) &&
                                   refused([&] { Queue<int>(); }) &&
                                   refused([&] { share(std::string("x")); });
                  reserved.reset();
                  own.reset();
                  remote.reset();
                  shared.reset();
                  return all ? 0 : 1;
              }),
              0);
    EXPECT_EQ(own->get_for(0s), std::nullopt);
    reserved.reset();
    EXPECT_EQ(own->get(), 1);
    EXPECT_EQ(remote->get(), 5);
    EXPECT_EQ(pool.apply([](Shared<std::string> const& word) { return word->size(); }, *shared),
              1000u);
}

TEST(Forks, OfAManagerNeitherEndNorUseIt) {
    auto manager = std::make_unique<Manager>();
    auto object = std::make_unique<Object<Sum>>(manager->create<Sum>());
    auto pending = std::make_optional(object->async<&Sum::add>(1));
    EXPECT_EQ(code_of_fork([&] {
                  bool const all = refused([&] { object->call<&Sum::add>(1); }) &&
                                   refused([&] { manager->create<Sum>(); });
                  pending.reset();
                  object.reset();
                  manager.reset();
                  return all ? 0 : 1;
              }),
              0);
    EXPECT_EQ(object->call<&Sum::add>(3), 4);
}

}  // namespace
}  // namespace sinew
