// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <new>
#include <sinew/pool/calls.hpp>
#include <sinew/task/encoding.hpp>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "src/pool/master/master.hpp"

namespace sinew::pool {
namespace {

/// A worker whose messages the test supplies; guard held. The runtime's thread ends it, possibly
/// after the test.
class PlayedPort final : public WorkerHandle {
public:
    struct Stage {
        PlayedPort* port = nullptr;
        std::deque<TasksHead> batches;
        int failing_starts = 0, failing_sends = 0;  ///< that throw unexpected exceptions
        std::condition_variable changed;
    };
    explicit PlayedPort(std::shared_ptr<Stage> stage) : stage_(std::move(stage)) {}
    ~PlayedPort() override {
        if (stage_->port == this) stage_->port = nullptr;
    }
    void on(Callbacks callbacks_) override {
        callbacks = std::move(callbacks_);
        stage_->port = this;
        stage_->changed.notify_all();
    }
    void send(Kind kind, std::initializer_list<std::span<std::byte const>> parts) override {
        if (kind == Kind::function && stage_->failing_sends-- > 0) throw std::bad_alloc();
        if (kind != Kind::tasks) return;
        std::memcpy(&stage_->batches.emplace_back(), parts.begin()->data(), sizeof(TasksHead));
    }
    void transfer(std::uint64_t, std::span<std::byte const>, std::shared_ptr<void const>) override {
    }
    void flush() override {}
    void kill() override {}
    std::string name() const override { return name_; }

    Callbacks callbacks;

private:
    std::shared_ptr<Stage> stage_;
    std::string const name_ = "a played worker";
};

class PlayedPlaces final : public WorkerPlacement {
public:
    explicit PlayedPlaces(std::shared_ptr<PlayedPort::Stage> stage) : stage_(std::move(stage)) {}
    std::unique_ptr<WorkerHandle> start(std::uint32_t, WorkerStart const&) override {
        if (stage_->failing_starts-- > 0)
            throw std::system_error(
                std::make_error_code(std::errc::resource_unavailable_try_again));
        return std::make_unique<PlayedPort>(stage_);
    }
    int cores() const override { return 1; }

private:
    std::shared_ptr<PlayedPort::Stage> stage_;
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

// Results of tasks `from` .. `done`-1, whose values are their indices. A message with `thrown` but
// without the errors it announces is invalid.
void say_part(PlayedPort& port, TasksHead const& tasks, std::uint32_t from, std::uint32_t done,
              std::uint32_t thrown = 0) {
    ResultsHead head{};
    head.batch = tasks.batch;
    head.from = from;
    head.done = done;
    head.thrown = thrown;
    Writer body;
    body.write(&head, sizeof head);
    for (auto i = from; thrown == 0 && i < done; ++i) encode(body, static_cast<int>(i));
    port.callbacks.message(Kind::results, body.bytes());
}

class MasterWorkers : public testing::Test {
protected:
    MasterWorkers() {
        PoolOptions options;
        options.workers = 1;
        options.progress = Progress::off;
        master = std::make_shared<Master>(options, std::make_unique<PlayedPlaces>(stage));
    }
    // Waits for the slot's next worker, which is ready.
    PlayedPort& worker(std::unique_lock<std::mutex>& lock) {
        bool const came = stage->changed.wait_for(lock, std::chrono::seconds(60),
                                                  [&] { return stage->port != nullptr; });
        if (!came) throw std::runtime_error("no worker was started");
        stage->port->callbacks.message(Kind::ready, {});
        return *stage->port;
    }
    auto submit() {
        TaskOptions one_each;
        one_each.chunk = 1;
        return PoolCalls(master, one_each).map_async([](int x) { return x; }, std::vector(3, 7));
    }
    void execute_all(PlayedPort& port, std::uint64_t busy_ns) {
        for (; !stage->batches.empty(); stage->batches.pop_front())
            say_results(port, stage->batches.front(), busy_ns);
    }
    void finish(PlayedPort& port) {
        master->terminate();
        {
            std::lock_guard const lock(master->guard());
            port.callbacks.ended({});
        }
        master->join();
    }

    std::shared_ptr<PlayedPort::Stage> const stage = std::make_shared<PlayedPort::Stage>();
    std::shared_ptr<Master> master;
};

// This and the next case were found by master_fuzz.
TEST_F(MasterWorkers, TheTimeThatTheyClaimDoesNotOverflow) {
    auto const result = submit();
    std::unique_lock lock(master->guard());
    auto& port = worker(lock);
    execute_all(port, std::numeric_limits<std::int64_t>::max());
    lock.unlock();
    EXPECT_EQ(result.get(), std::vector(3, 7));
    EXPECT_EQ(master->stats().busy, std::chrono::nanoseconds::max());
    finish(port);
}

TEST_F(MasterWorkers, ResultsThatWereRefusedDoNotCountWhenTheyComeAgain) {
    auto const result = submit();
    std::unique_lock lock(master->guard());
    auto& wild = worker(lock);
    auto const batch = stage->batches.front();
    say_results(wild, batch, std::numeric_limits<std::uint64_t>::max());  // a negative duration
    say_results(wild, batch, 1);
    stage->batches.clear();
    stage->port = nullptr;
    wild.callbacks.ended({});
    auto& port = worker(lock);
    execute_all(port, 1);
    lock.unlock();
    EXPECT_EQ(result.get(), std::vector(3, 7));
    finish(port);
}

TEST_F(MasterWorkers, WhatFollowsAMessageThatIsMissingIsNotTakenForIt) {
    for (std::uint32_t const thrown : {1U, 0U}) {  // invalid; never arrived
        TaskOptions all_in_one;
        all_in_one.chunk = 4;
        auto const result = PoolCalls(master, all_in_one)
                                .map_async([](int x) { return x; }, std::vector{0, 1, 2, 3});
        std::unique_lock lock(master->guard());
        auto& wild = worker(lock);
        auto const batch = stage->batches.front();
        if (thrown > 0) say_part(wild, batch, 0, 2, thrown);
        say_part(wild, batch, 2, 4);
        stage->batches.clear();
        stage->port = nullptr;
        wild.callbacks.ended({});
        auto& port = worker(lock);
        for (; !stage->batches.empty(); stage->batches.pop_front())
            say_part(port, stage->batches.front(), 0, stage->batches.front().count);
        lock.unlock();
        EXPECT_EQ(result.get(), (std::vector{0, 1, 2, 3}));
        lock.lock();
        stage->port = nullptr;
        port.callbacks.ended({});
    }
    std::unique_lock lock(master->guard());
    auto& last = worker(lock);
    lock.unlock();
    finish(last);
}

// Like std::thread if there are too many threads.
TEST_F(MasterWorkers, StartsThatFailByWhateverIsThrownAreTriedAgain) {
    stage->failing_starts = 2;
    auto const result = submit();
    std::unique_lock lock(master->guard());
    auto& port = worker(lock);
    execute_all(port, 1);
    lock.unlock();
    EXPECT_EQ(result.get(), std::vector(3, 7));
    finish(port);
}

TEST_F(MasterWorkers, WhatCannotBeCarriedOutBreaksThePoolWithTheReason) {
    stage->failing_sends = 1;
    auto const result = submit();
    std::unique_lock lock(master->guard());
    auto& port = worker(lock);
    lock.unlock();
    EXPECT_THAT([&] { result.get(); },
                testing::ThrowsMessage<PoolBroken>(testing::HasSubstr("std::bad_alloc")));
    EXPECT_THAT([&] { submit(); },
                testing::ThrowsMessage<PoolBroken>(testing::HasSubstr("std::bad_alloc")));
    finish(port);
}

TEST_F(MasterWorkers, ARetryOnThatThrowsIsNoRetry) {
    TaskOptions options;
    options.retry_on.times = 3;
    options.retry_on.matches = [](std::exception_ptr const&) -> bool {
        throw std::range_error("a conversion of the user's");
    };
    auto const result =
        PoolCalls(master, options).map_async([](int x) { return x; }, std::vector(1, 7));
    std::unique_lock lock(master->guard());
    auto& port = worker(lock);
    ResultsHead head{};
    head.batch = stage->batches.front().batch;
    head.done = head.thrown = 1;
    Writer body;
    body.write(&head, sizeof head);
    std::uint32_t const offset = 0;
    body.write(&offset, sizeof offset);
    ErrorRecord error;
    error.type = "std::domain_error";
    error.what = "of the task's";
    error.attempt = 1;
    encode(body, error);
    port.callbacks.message(Kind::results, body.bytes());
    lock.unlock();
    EXPECT_THROW(result.get(), std::domain_error);
    finish(port);
}

}  // namespace
}  // namespace sinew::pool
