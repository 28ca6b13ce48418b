// SPDX-License-Identifier: Apache-2.0
// User-defined types whose methods answer later.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <filesystem>
#include <future>
#include <iterator>
#include <sinew/manager.hpp>
#include <sinew/manager/deferred.hpp>
#include <sinew/process.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "src/base/text.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

/// Hands numbers to callers that wait for one.
class Shelf {
public:
    Deferred<int> take() {
        if (!numbers_.empty()) {
            int const first = numbers_.front();
            numbers_.pop_front();
            return first;
        }
        return waiting_.emplace_back();
    }
    /// Returns whether a caller waited for it.
    bool put(int number) {
        while (!waiting_.empty()) {
            auto const first = waiting_.front();
            waiting_.pop_front();
            if (first.answer(number)) return true;
        }
        numbers_.push_back(number);
        return false;
    }
    Deferred<void> fail_later() {
        failing_.emplace_back();
        return failing_.back();
    }
    void fail() {
        for (auto const& each : failing_) each.fail(std::out_of_range("no more numbers"));
        failing_.clear();
    }
    Deferred<int> throws_all_the_same() {
        waiting_.emplace_back();
        throw std::logic_error("it threw");
    }
    Deferred<int> from_a_thread(int milliseconds) {
        Promise<int> const promise;
        threads_.emplace_back([promise, milliseconds] {
            std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
            promise.answer(milliseconds);
        });
        return promise;
    }
    Deferred<int> answered_before_it_returns() {
        Promise<int> const promise;
        promise.answer(5);
        return promise;
    }
    void forget() { waiting_.clear(); }
    std::size_t waiting() const { return waiting_.size(); }

    void calls_withdrawn() {
        ++withdrawals_;
        std::erase_if(waiting_, [](auto const& each) { return !each.waiting(); });
    }
    void caller_lost(Caller who) { lost_.push_back(who); }
    int withdrawals() const { return withdrawals_; }
    std::size_t lost() const { return lost_.size(); }

private:
    std::deque<int> numbers_;
    std::deque<Promise<int>> waiting_;
    std::vector<Promise<void>> failing_;
    std::vector<std::jthread> threads_;
    std::vector<Caller> lost_;
    int withdrawals_ = 0;
};

std::size_t threads_of(pid_t pid) {
    std::filesystem::directory_iterator const all(text("/proc/", pid, "/task"));
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

struct DeferredAnswers : testing::Test {
    LeakCheck leaks;
    Manager manager;
    Object<Shelf> registry = manager.create<Shelf>();
};

TEST_F(DeferredAnswers, ComeWhenTheObjectHasThem) {
    auto const first = registry.async<&Shelf::take>(), second = registry.async<&Shelf::take>();
    EXPECT_FALSE(first.wait_for(50ms));
    EXPECT_TRUE(registry.call<&Shelf::put>(1));
    EXPECT_EQ(first.get(), 1);
    EXPECT_FALSE(second.ready());
    registry.oneway<&Shelf::put>(2);
    registry.oneway<&Shelf::put>(3);
    EXPECT_EQ(second.get(), 2);
    EXPECT_EQ(registry.call<&Shelf::take>(), 3) << "at once";
    EXPECT_EQ(registry.call<&Shelf::answered_before_it_returns>(), 5);
}

TEST_F(DeferredAnswers, MayBeExceptions) {
    auto const reply = registry.async<&Shelf::fail_later>();
    registry.call<&Shelf::fail>();
    EXPECT_THROW(reply.get(), std::out_of_range);
    EXPECT_THROW(registry.call<&Shelf::throws_all_the_same>(), std::logic_error);
    EXPECT_FALSE(registry.call<&Shelf::put>(1)) << "nobody waits any more";
}

TEST_F(DeferredAnswers, ComeFromAnyThread) {
    std::vector<Reply<int>> replies;
    for (int i = 0; i < 5; ++i) replies.push_back(registry.async<&Shelf::from_a_thread>(10 * i));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(replies[static_cast<std::size_t>(i)].get(), 10 * i);
}

TEST_F(DeferredAnswers, ThatNobodyGivesAnyMoreAreAnError) {
    auto const reply = registry.async<&Shelf::take>();
    registry.call<&Shelf::forget>();
    EXPECT_THROW(reply.get(), std::future_error);
}

TEST_F(DeferredAnswers, ArePossibleToGiveUp) {
    auto const first = registry.async<&Shelf::take>(), second = registry.async<&Shelf::take>();
    EXPECT_FALSE(get_within(first, 20ms));
    EXPECT_THROW(first.get(), Cancelled);
    EXPECT_EQ(registry.call<&Shelf::waiting>(), 1U) << "the object has heard of it";
    registry.call<&Shelf::put>(7);
    EXPECT_EQ(get_within(second, 0ms), 7) << "a value that arrives wins";
    second.cancel();
    EXPECT_EQ(second.get(), 7);
}

TEST_F(DeferredAnswers, AreGivenUpAtOnceOrNotAtAll) {
    int taken = 0;
    for (int i = 0; i < 200; ++i) {
        auto const reply = registry.async<&Shelf::take>();
        auto const put = registry.async<&Shelf::put>(i);
        auto const got = get_within(reply, 0ns);
        if (got) ++taken;
        EXPECT_EQ(put.get(), got.has_value()) << "a number was lost, or given twice";
        EXPECT_EQ(got ? *got : registry.call<&Shelf::take>(), i);
    }
    RecordProperty("taken", taken);
}

int take_and_die(Object<Shelf> const& registry) {
    auto const reply = registry.async<&Shelf::take>();
    registry.call<&Shelf::waiting>();
    ::raise(SIGKILL);
    return 0;
}

TEST_F(DeferredAnswers, AreNotOwedToTheDead) {
    Process process(task<take_and_die>, registry);
    process.start();
    process.join();
    EXPECT_TRUE(eventually([&] { return registry.call<&Shelf::lost>() == 1; }));
    EXPECT_EQ(registry.call<&Shelf::waiting>(), 0U);
    EXPECT_FALSE(registry.call<&Shelf::put>(1));
}

TEST_F(DeferredAnswers, HoldNoThread) {
    std::vector<Reply<int>> replies;
    for (int i = 0; i < 5000; ++i) replies.push_back(registry.async<&Shelf::take>());
    EXPECT_EQ(registry.call<&Shelf::waiting>(), 5000U);
    auto const processors = std::max(1U, std::thread::hardware_concurrency());
    EXPECT_LT(threads_of(manager.pid()), 20 + processors);
    for (int i = 0; i < 5000; ++i) registry.oneway<&Shelf::put>(i);
    for (int i = 0; i < 5000; ++i) EXPECT_EQ(replies[static_cast<std::size_t>(i)].get(), i);
}

TEST_F(DeferredAnswers, KeepTheirObject) {
    auto const reply = manager.create<Shelf>().async<&Shelf::from_a_thread>(100);
    EXPECT_EQ(reply.get(), 100);
}

TEST_F(DeferredAnswers, EndWithTheManager) {
    auto const reply = registry.async<&Shelf::take>();
    registry.call<&Shelf::waiting>();
    manager.shutdown();
    try {
        reply.get();
        ADD_FAILURE() << "it was answered";
    } catch (ObjectLost const& error) {
        EXPECT_TRUE(error.maybe_executed());
    }
}

TEST_F(DeferredAnswers, BelongToACall) {
    EXPECT_THROW(Promise<int>(), UsageError);
    EXPECT_THROW(this_call::caller(), UsageError);
}

}  // namespace
}  // namespace sinew::testing_support
