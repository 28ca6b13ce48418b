// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sinew/manager.hpp>
#include <sinew/process.hpp>
#include <sinew/queue.hpp>
#include <stdexcept>
#include <thread>

#include "src/base/text.hpp"
#include "tests/manager/support/counter.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/message_of.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct Managers : testing::Test {
    LeakCheck leaks;
};

TEST_F(Managers, ObjectsLiveInAnotherProcess) {
    Manager manager;
    auto counter = manager.create<Counter>(40);
    EXPECT_EQ(counter.call<&Counter::add>(2), 42);
    EXPECT_EQ(counter.call<&Counter::value>(), 42);
    EXPECT_EQ(counter.call<&Counter::pid>(), manager.pid());
    EXPECT_NE(manager.pid(), ::getpid());
    auto const named = manager.create<Counter>("a name", 7);
    EXPECT_EQ(named.call<&Counter::name>(), "a name");
    EXPECT_EQ(named.call<&Counter::value>(), 7);
    EXPECT_EQ(manager.create<Counter>().call<&Counter::value>(), 0);
}

// G7 (Fiber): replies belong to their calls, and exceptions are not values.
TEST_F(Managers, RepliesMayBeGotInAnyOrder) {
    AsyncManager manager;
    auto counter = manager.create<Counter>(0);
    std::vector<Reply<int>> replies;
    for (int i = 0; i < 1000; ++i) replies.push_back(counter.call<&Counter::add>(1));
    auto const failed = counter.call<&Counter::fail>("no such cell");
    auto const last = counter.call<&Counter::add>(1);
    EXPECT_EQ(last.get(), 1001);
    EXPECT_THROW(failed.get(), std::out_of_range);
    for (int i = 999; i >= 0; --i) EXPECT_EQ(replies[static_cast<std::size_t>(i)].get(), i + 1);
    EXPECT_EQ(replies.front().get(), 1) << "again";
}

TEST_F(Managers, ExceptionsSayWhereTheyWereThrown) {
    Manager manager;
    auto counter = manager.create<Counter>();
    try {
        counter.call<&Counter::fail>("no such cell");
        ADD_FAILURE() << "nothing was thrown";
    } catch (std::out_of_range const& error) {
        EXPECT_STREQ(error.what(), "no such cell");
        auto const& record = dynamic_cast<RemoteException const&>(error).record();
        EXPECT_EQ(record.pid, manager.pid());
        EXPECT_THAT(record.function, HasSubstr("Counter::fail"));
    }
    EXPECT_THROW(manager.create<Counter>("x", -1), std::invalid_argument);
    EXPECT_EQ(counter.call<&Counter::add>(1), 1) << "the manager goes on";
}

TEST_F(Managers, SeveralWorkAtTheSameTime) {
    std::vector<AsyncManager> managers(4);
    std::vector<AsyncObject<Counter>> counters;
    for (auto& each : managers) counters.push_back(each.create<Counter>());
    std::vector<Reply<std::pair<std::int64_t, std::int64_t>>> replies;
    for (auto const& each : counters) replies.push_back(each.call<&Counter::interval>(1000));
    // All calls overlap: all have begun when the first ends.
    std::vector<std::int64_t> begins, ends;
    for (auto const& each : replies) {
        begins.push_back(each.get().first);
        ends.push_back(each.get().second);
    }
    EXPECT_LT(*std::ranges::max_element(begins), *std::ranges::min_element(ends));
}

TEST_F(Managers, ObjectsOfOneDoNotWaitForEachOther) {
    Manager manager;
    auto slow = manager.create<Counter>();
    auto quick = manager.create<Counter>();
    auto const late = slow.async<&Counter::slowly>(3000);
    EXPECT_EQ(quick.call<&Counter::add>(1), 1);
    EXPECT_FALSE(late.ready());
    EXPECT_EQ(late.get(), 1);
}

TEST_F(Managers, OneCallAtATimeUnlessDeclaredParallel) {
    Manager manager;
    auto alone = manager.create<Counter>();
    std::vector<Reply<int>> replies;
    for (int i = 0; i < 4; ++i) replies.push_back(alone.async<&Counter::crowd>(50));
    for (auto const& each : replies) EXPECT_EQ(each.get(), 1);
    auto parallel = manager.create_parallel<Counter>(3);
    replies.clear();
    for (int i = 0; i < 9; ++i) replies.push_back(parallel.async<&Counter::crowd>(200));
    int most = 0;
    for (auto const& each : replies) most = std::max(most, each.get());
    EXPECT_GT(most, 1);
    EXPECT_LE(most, 3);
    AsyncManager async;
    AsyncObject<Counter> const many = async.create_parallel<Counter>(2);
    EXPECT_EQ(many.call<&Counter::add>(1).get(), 1);
}

TEST_F(Managers, OneWayCallsAreExecutedInTheirTurn) {
    Manager manager;
    auto counter = manager.create<Counter>();
    for (int i = 0; i < 100; ++i) counter.oneway<&Counter::note>(0, i);
    counter.oneway<&Counter::fail>("told on standard error");
    auto const notes = counter.call<&Counter::notes>();
    ASSERT_EQ(notes.size(), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(notes[static_cast<std::size_t>(i)].second, i);
}

TEST_F(Managers, TimeoutsAndCancellation) {
    Manager manager;
    auto counter = manager.create<Counter>();
    auto const slow = counter.async<&Counter::slowly>(700);
    auto const behind = counter.async<&Counter::add>(10);
    EXPECT_THAT(message_of<Timeout>([&] { slow.get(10ms); }),
                AllOf(HasSubstr("Counter::slowly"), HasSubstr("0.01 s")));
    behind.cancel();
    EXPECT_THROW(behind.get(), Cancelled);
    EXPECT_FALSE(behind.successful());
    slow.cancel();  // it has begun
    EXPECT_EQ(slow.get(), 1);
    EXPECT_EQ(counter.call<&Counter::value>(), 1);
}

TEST_F(Managers, LargeArgumentsAndResultsKeepTheirTurn) {
    Manager manager;
    auto counter = manager.create<Counter>();
    std::vector<std::uint8_t> bytes(std::size_t{24} << 20);
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
    counter.oneway<&Counter::note>(0, 1);
    auto const large = counter.async<&Counter::echo>(bytes);
    counter.oneway<&Counter::note>(0, 2);
    auto const notes = counter.async<&Counter::notes>();
    EXPECT_EQ(large.get(), bytes);
    EXPECT_THAT(notes.get(), ElementsAre(std::pair(0, 1), std::pair(0, 2)));
}

int add_five(Object<Counter> const& counter) { return counter.call<&Counter::add>(5) == 5 ? 0 : 1; }

TEST_F(Managers, HandlesTravel) {
    Manager manager;
    auto counter = manager.create<Counter>();
    Process process(task<add_five>, counter);
    process.start();
    process.join();
    EXPECT_EQ(process.exitcode(), 0);
    EXPECT_EQ(counter.call<&Counter::value>(), 5);
}

class Keeper {
public:
    void keep(Object<Counter> const& counter) { kept_.push_back(counter); }
    int add(int more) { return kept_.back().call<&Counter::add>(more); }
    void drop() { kept_.clear(); }

private:
    std::vector<Object<Counter>> kept_;
};

TEST_F(Managers, ObjectsHoldHandlesOfOthers) {
    Manager one, two;
    for (Manager* const home : {&one, &two}) {
        auto keeper = one.create<Keeper>();
        {
            auto const counter = home->create<Counter>(1);
            keeper.call<&Keeper::keep>(counter);
        }
        EXPECT_EQ(keeper.call<&Keeper::add>(1), 2);
        keeper.call<&Keeper::drop>();
    }
}

TEST_F(Managers, ObjectsEndWithTheirLastHandle) {
    auto const file = std::filesystem::temp_directory_path() / text("sinew-end-", ::getpid());
    std::filesystem::remove(file);
    Manager manager;
    {
        auto counter = manager.create<Counter>();
        auto const copy = counter;
        counter.oneway<&Counter::note_end>(file.string());
        copy.call<&Counter::add>(1);
        EXPECT_FALSE(std::filesystem::exists(file));
    }
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file); }));
    std::filesystem::remove(file);
}

TEST_F(Managers, PublishedObjectsAreFoundByName) {
    Manager manager;
    manager.create<Counter>(3).publish("three");
    auto const found = manager.lookup<Counter>("three");
    EXPECT_EQ(found.call<&Counter::value>(), 3);
    EXPECT_THAT(message_of<UsageError>([&] { manager.lookup<Counter>("four"); }),
                HasSubstr("no object published as four"));
    EXPECT_THAT(message_of<UsageError>([&] { manager.lookup<Keeper>("three"); }),
                AllOf(HasSubstr("Counter"), HasSubstr("Keeper")));
    EXPECT_THAT(message_of<UsageError>([&] { found.publish("three"); }), HasSubstr("taken"));
}

TEST_F(Managers, ObjectsThatWereLetGoAreFoundAgain) {
    Manager manager;
    manager.create<Counter>().publish("counter");
    for (int i = 1; i < 4; ++i)
        EXPECT_EQ(manager.lookup<Counter>("counter").call<&Counter::add>(1), i);
}

TEST_F(Managers, ObjectsAreFoundAgainWhileTheyAreHeld) {
    Manager manager;
    auto const counter = manager.create<Counter>();
    counter.publish("counter");
    for (int i = 1; i < 4; ++i) {
        auto const found = manager.lookup<Counter>("counter");
        EXPECT_EQ(found.async<&Counter::add>(1).get(10s), 2 * i - 1);
        EXPECT_EQ(counter.async<&Counter::add>(1).get(10s), 2 * i);
    }
}

TEST_F(Managers, HaveWhatTheyWereMeantToHaveOfTheHost) {
    ManagerOptions options;
    options.meta.cpu = 1;
    Manager manager(options);
    EXPECT_EQ(manager.create<Counter>().call<&Counter::usable_cores>(), 1);
    options.meta.cpu = 1'000'000;
    EXPECT_THAT(message_of<UsageError>([&] { Manager refused(options); }), HasSubstr("1000000"));
}

TEST_F(Managers, EndInOrder) {
    Manager manager;
    auto counter = manager.create<Counter>();
    auto const file = std::filesystem::temp_directory_path() / text("sinew-last-", ::getpid());
    std::filesystem::remove(file);
    counter.call<&Counter::note_end>(file.string());
    counter.call<&Counter::add>(1);
    auto const running = counter.async<&Counter::slowly>(500);
    auto const behind = counter.async<&Counter::slowly>(500);
    std::this_thread::sleep_for(200ms);
    manager.shutdown();
    EXPECT_EQ(running.get(), 2) << "what runs ends";
    try {
        behind.get();
        ADD_FAILURE() << "it began after the end";
    } catch (ObjectLost const& error) {
        EXPECT_FALSE(error.maybe_executed());
    }
    EXPECT_TRUE(std::filesystem::remove(file)) << "its destructor did not run";
    EXPECT_THROW(counter.call<&Counter::value>(), ObjectLost);
    EXPECT_THROW(manager.create<Counter>(), ObjectLost);
    manager.shutdown();
}

}  // namespace
}  // namespace sinew::testing_support
