// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <limits>
#include <sinew/encoding.hpp>
#include <sinew/pool_calls.hpp>
#include <vector>

#include "src/pool/master.hpp"

namespace sinew::pool {
namespace {

/// A worker that the test plays. With the master's guard held.
class PlayedPort final : public WorkerPort {
public:
    struct Stage {
        PlayedPort* port = nullptr;
        std::deque<TasksHead> batches;
        std::condition_variable changed;
    };
    explicit PlayedPort(Stage& stage) : stage_(stage) {}
    ~PlayedPort() override { stage_.port = nullptr; }
    void on(Callbacks callbacks_) override {
        callbacks = std::move(callbacks_);
        stage_.port = this;
        stage_.changed.notify_all();
    }
    void send(Kind kind, std::initializer_list<std::span<std::byte const>> parts) override {
        if (kind != Kind::tasks) return;
        std::memcpy(&stage_.batches.emplace_back(), parts.begin()->data(), sizeof(TasksHead));
    }
    void transfer(std::uint64_t, std::span<std::byte const>, std::shared_ptr<void const>) override {
    }
    void flush() override {}
    void kill() override {}
    std::string const& name() const override { return name_; }

    Callbacks callbacks;

private:
    Stage& stage_;
    std::string const name_ = "a played worker";
};

class PlayedPlaces final : public Places {
public:
    explicit PlayedPlaces(PlayedPort::Stage& stage) : stage_(stage) {}
    std::unique_ptr<WorkerPort> start(std::uint32_t, WorkerStart const&) override {
        return std::make_unique<PlayedPort>(stage_);
    }
    int cores() const override { return 1; }

private:
    PlayedPort::Stage& stage_;
};

void say_results(PlayedPort& port, TasksHead const& tasks, std::uint64_t busy_ns) {
    ResultsHead head{};
    head.batch = tasks.batch;
    head.done = tasks.count;
    head.busy_ns = busy_ns;
    Writer body;
    body.write(&head, sizeof head);
    for (std::uint32_t i = 0; i < tasks.count; ++i) encode(body, 7);
    port.callbacks.message(Kind::results, body.bytes());
}

// Found by master_fuzz.
TEST(MasterWorkers, TheTimeThatWorkersClaimDoesNotOverflow) {
    PlayedPort::Stage stage;
    PoolOptions options;
    options.workers = 1;
    options.progress = Progress::off;
    auto const master = std::make_shared<Master>(options, std::make_unique<PlayedPlaces>(stage));
    TaskOptions one_each;
    one_each.chunk = 1;
    auto const result =
        PoolCalls(master, one_each).map_async([](int x) { return x; }, std::vector<int>(3, 7));
    std::unique_lock lock(master->guard());
    ASSERT_TRUE(stage.changed.wait_for(lock, std::chrono::seconds(60),
                                       [&] { return stage.port != nullptr; }));
    auto& port = *stage.port;
    port.callbacks.message(Kind::ready, {});
    for (; !stage.batches.empty(); stage.batches.pop_front())
        say_results(port, stage.batches.front(), std::numeric_limits<std::int64_t>::max());
    lock.unlock();
    EXPECT_EQ(result.get(), std::vector<int>(3, 7));
    EXPECT_EQ(master->stats().busy, std::chrono::nanoseconds::max());
    master->terminate();
    lock.lock();
    port.callbacks.ended({});
    lock.unlock();
    master->join();
}

}  // namespace
}  // namespace sinew::pool
