// SPDX-License-Identifier: Apache-2.0
// A worker executes tasks: results, exceptions, start and end.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <sinew/this_task.hpp>
#include <stdexcept>
#include <thread>

#include "tests/pool/worker/worker_harness.hpp"

namespace sinew::pool::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::uint64_t twice(std::uint64_t x) { return 2 * x; }
void nothing() {}
std::uint64_t even_only(std::uint64_t x) {
    if (x % 2 != 0) throw std::out_of_range("odd: " + std::to_string(x));
    return x;
}
std::vector<std::uint64_t> about_me() { return {this_task::index(), this_task::attempt()}; }
void nap(std::uint64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Encoding its result fails after some of it has been written.
struct Unspeakable {
    void encode_to(Writer& writer) const {
        std::uint64_t const half = 7;
        writer.write(&half, sizeof half);
        throw std::runtime_error("unspeakable");
    }
    static Unspeakable decode_from(Reader&) { return {}; }
};
Unspeakable speak(std::uint64_t) { return {}; }

std::uint64_t prepared = 0;
void prepare(std::uint64_t value) { prepared = value; }
void prepare_badly() { throw std::invalid_argument("no such data set"); }
std::uint64_t show_prepared() { return prepared; }

/// A function object whose state cannot be decoded.
struct Broken {
    std::uint64_t unread = 0;
    std::uint64_t operator()(std::uint64_t x) const { return x + unread; }
    void encode_to(Writer&) const {}
    static Broken decode_from(Reader&) { throw std::domain_error("no state"); }
};
struct Add {
    std::uint64_t n = 0;
    std::uint64_t operator()(std::uint64_t x) const { return x + n; }
};

/// A value of 2 cannot be decoded.
struct Fragile {
    std::uint64_t value = 0;
    std::vector<std::uint64_t> more;
    template <class Archive>
    void save(Archive& archive) const {
        archive(value, more);
    }
    template <class Archive>
    void load(Archive& archive) {
        archive(value);
        if (value == 2) throw std::runtime_error("it is two");
        archive(more);
    }
};
std::uint64_t count_of(Fragile const& fragile) { return fragile.value; }
std::uint64_t decode_badly_at_two(std::uint64_t x) {
    Reader nothing({});
    return x == 2 ? decode<std::uint64_t>(nothing) : x;
}

template <auto F>
Writer numbers(std::uint64_t first, std::uint32_t count) {
    Writer writer;
    for (std::uint64_t i = first; i < first + count; ++i) add_arguments<F>(writer, i);
    return writer;
}

TEST(WorkerTasks, ExecutesABatchInOrder) {
    Master master;
    ASSERT_TRUE(master.wait_ready());
    master.job<&twice, std::uint64_t>(1);
    master.batch({1, 10, 0, 100, 1, 0}, numbers<&twice>(0, 100));
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 100); }));
    auto const values = results<std::uint64_t>(master.heard[10]);
    ASSERT_EQ(values.size(), 100u);
    for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(values[i], 2 * i);
    EXPECT_THAT(master.heard[10].thrown, IsEmpty());
}

TEST(WorkerTasks, ExecutesManyBatchesSentAtOnce) {
    Master master;
    master.job<&twice, std::uint64_t>(1);
    for (std::uint64_t b = 1; b <= 50; ++b)
        master.batch({1, b, 40 * b, 40, 1, 0}, numbers<&twice>(40 * b, 40));
    ASSERT_TRUE(master.wait([&] { return master.settled(50, 40); }));
    for (std::uint64_t b = 1; b <= 50; ++b) {
        auto const values = results<std::uint64_t>(master.heard[b]);
        ASSERT_EQ(values.size(), 40u) << b;
        EXPECT_EQ(values.front(), 80 * b);
    }
}

TEST(WorkerTasks, ExecutesWithoutArgumentsAndResults) {
    Master master;
    master.job<&nothing>(1);
    master.batch({1, 10, 0, 1000000, 1, 0}, Writer());
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 1000000); }));
    EXPECT_TRUE(master.heard[10].results.empty());
}

TEST(WorkerTasks, TellsATaskWhichItIs) {
    Master master;
    master.job<&about_me>(1);
    master.batch({1, 10, 500, 2, 3, 0}, Writer());
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 2); }));
    EXPECT_THAT(results<std::vector<std::uint64_t>>(master.heard[10]),
                ElementsAre(ElementsAre(500, 3), ElementsAre(501, 3)));
}

TEST(WorkerTasks, ReportsExceptionsInPlace) {
    Master master;
    master.job<&even_only, std::uint64_t>(1);
    master.batch({1, 10, 4, 4, 2, 0}, numbers<&even_only>(4, 4));
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 4); }));
    auto const& heard = master.heard[10];
    EXPECT_THAT(results<std::uint64_t>(heard), ElementsAre(4, 6));
    ASSERT_EQ(heard.thrown.size(), 2u);
    EXPECT_EQ(heard.thrown[0].offset, 1u);
    EXPECT_EQ(heard.thrown[1].offset, 3u);
    auto const& record = heard.thrown[1].record;
    EXPECT_EQ(record.type, "std::out_of_range");
    EXPECT_EQ(record.what, "odd: 7");
    EXPECT_THAT(record.function, HasSubstr("even_only"));
    EXPECT_EQ(record.task, 7u);
    EXPECT_EQ(record.attempt, 2u);
    EXPECT_EQ(record.pid, master.process->pid());
}

TEST(WorkerTasks, TakesBackAResultThatCannotBeEncoded) {
    Master master;
    master.job<&speak, std::uint64_t>(1);
    master.batch({1, 10, 0, 2, 1, 0}, numbers<&speak>(0, 2));
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 2); }));
    EXPECT_TRUE(master.heard[10].results.empty());
    ASSERT_EQ(master.heard[10].thrown.size(), 2u);
    EXPECT_EQ(master.heard[10].thrown[0].record.what, "unspeakable");
}

TEST(WorkerTasks, FailsTheTasksWhoseArgumentsAreCutShort) {
    Master master;
    master.job<&twice, std::uint64_t>(1);
    master.batch({1, 10, 0, 5, 1, 0}, numbers<&twice>(0, 3));
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 5); }));
    EXPECT_THAT(results<std::uint64_t>(master.heard[10]), ElementsAre(0, 2, 4));
    ASSERT_EQ(master.heard[10].thrown.size(), 2u);
    EXPECT_EQ(master.heard[10].thrown[0].offset, 3u);
    EXPECT_EQ(master.heard[10].thrown[0].record.type, "sinew::DecodeError");
}

// The start of the next task's arguments is unknown to the worker; the master knows it and sends
// those tasks again.
TEST(WorkerTasks, GivesBackWhatLiesBehindArgumentsThatCannotBeRead) {
    Master master;
    master.job<&count_of, Fragile>(1);
    Writer writer;
    for (std::uint64_t i = 0; i < 6; ++i) add_arguments<&count_of>(writer, Fragile{i, {}});
    master.batch({1, 10, 10, 6, 1, 0}, writer);
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 6); }));
    auto const& heard = master.heard[10];
    EXPECT_EQ(heard.kept, 3u);
    EXPECT_EQ(heard.done, 3u);
    EXPECT_THAT(results<std::uint64_t>(heard), ElementsAre(0, 1));
    ASSERT_EQ(heard.thrown.size(), 1u);
    EXPECT_EQ(heard.thrown[0].offset, 2u);
    EXPECT_EQ(heard.thrown[0].record.type, "sinew::DecodeError");
    EXPECT_THAT(heard.thrown[0].record.what, HasSubstr("it is two"));
    master.send(Kind::revoke, BatchHead{10});  // crosses the result
    Writer rest;
    for (std::uint64_t i = 3; i < 6; ++i) add_arguments<&count_of>(rest, Fragile{i, {}});
    master.batch({1, 11, 13, 3, 1, 0}, rest);
    ASSERT_TRUE(master.wait([&] { return master.settled(11, 3); }));
    EXPECT_THAT(results<std::uint64_t>(master.heard[11]), ElementsAre(3, 4, 5));
}

TEST(WorkerTasks, ADecodeErrorOfTheTaskItselfIsNoOthers) {
    Master master;
    master.job<&decode_badly_at_two, std::uint64_t>(1);
    master.batch({1, 10, 0, 5, 1, 0}, numbers<&twice>(0, 5));
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 5); }));
    EXPECT_THAT(results<std::uint64_t>(master.heard[10]), ElementsAre(0, 1, 3, 4));
    EXPECT_EQ(master.heard[10].kept, std::nullopt);
}

TEST(WorkerTasks, GivesAFunctionObjectItsState) {
    Master master;
    Writer state;
    encode(state, Add{5});
    auto const task = detail::id_of(detail::Call<Add, std::uint64_t>::entry());
    master.send(Kind::function, FunctionHead{1, task.value, 0, 0}, state.bytes());
    master.batch({1, 10, 0, 2, 1, 0}, numbers<&twice>(1, 2));
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 2); }));
    EXPECT_THAT(results<std::uint64_t>(master.heard[10]), ElementsAre(6, 7));
}

TEST(WorkerTasks, FailsTheTasksOfAFunctionWhoseStateCannotBeRead) {
    Master master;
    auto const task = detail::id_of(detail::Call<Broken, std::uint64_t>::entry());
    master.send(Kind::function, FunctionHead{1, task.value, 0, 0});
    master.batch({1, 10, 0, 2, 1, 0}, numbers<&twice>(1, 2));
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 2); }));
    ASSERT_EQ(master.heard[10].thrown.size(), 2u);
    EXPECT_EQ(master.heard[10].thrown[1].record.what, "no state");
}

TEST(WorkerTasks, ReportsBeforeALongBatchIsOver) {
    Master master;
    master.job<&nap, std::uint64_t>(1);
    Writer writer;
    for (int i = 0; i < 20; ++i) add_arguments<&nap>(writer, std::uint64_t{10});
    master.batch({1, 10, 0, 20, 1, 0}, writer);
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 20); }));
    EXPECT_GE(master.heard[10].reports, 10);
    EXPECT_GE(master.heard[10].busy_ns, 20u * 10'000'000u);
}

TEST(WorkerTasks, RunsItsInitializerFirst) {
    auto start = usual_start();
    Writer arguments;
    add_arguments<&prepare>(arguments, std::uint64_t{42});
    start.initializer = detail::id_of(detail::Call<Task<&prepare>, std::uint64_t>::entry()).value;
    start.initializer_arguments = wire::test::string(arguments.bytes());
    Master master(start);
    master.job<&show_prepared>(1);
    master.batch({1, 10, 0, 1, 1, 0}, Writer());
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 1); }));
    EXPECT_THAT(results<std::uint64_t>(master.heard[10]), ElementsAre(42));
}

TEST(WorkerTasks, SaysWhyItsInitializerFailed) {
    auto start = usual_start();
    start.initializer = detail::id_of(detail::Call<Task<&prepare_badly>>::entry()).value;
    Master master(start);
    EXPECT_EQ(WEXITSTATUS(master.wait_end()), 1);
    EXPECT_THAT(master.refused, HasSubstr("prepare_badly"));
    EXPECT_THAT(master.refused, HasSubstr("no such data set"));
    EXPECT_FALSE(master.ready);
}

TEST(WorkerTasks, RefusesAnotherProgramsMaster) {
    auto start = usual_start();
    start.program = "build 0000";
    Master master(start);
    EXPECT_EQ(WEXITSTATUS(master.wait_end()), 1);
    EXPECT_THAT(master.refused, HasSubstr("build 0000"));
    EXPECT_THAT(master.refused, HasSubstr(detail::program_identity().text));
}

TEST(WorkerTasks, RefusesATaskThatItDoesNotHave) {
    Master master;
    ASSERT_TRUE(master.wait_ready());
    master.send(Kind::function, FunctionHead{1, 12345, 0, 0});
    master.batch({1, 10, 0, 1, 1, 0}, Writer());
    EXPECT_EQ(WEXITSTATUS(master.wait_end()), 1);
    EXPECT_THAT(master.refused, HasSubstr("12345"));
}

// G22 (Fiber): this is not a failure.
TEST(WorkerTasks, FinishesWhatItHasWhenReleased) {
    Master master;
    master.job<&nap, std::uint64_t>(1);
    Writer writer;
    for (int i = 0; i < 5; ++i) add_arguments<&nap>(writer, std::uint64_t{5});
    for (std::uint64_t b = 1; b <= 3; ++b) master.batch({1, b, 0, 5, 1, 0}, writer);
    master.send(Kind::forget, JobHead{1});
    master.send(Kind::release);
    auto const status = master.wait_end();
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    for (std::uint64_t b = 1; b <= 3; ++b) EXPECT_EQ(master.heard[b].done, 5u);
    EXPECT_EQ(master.control_end->cause, wire::LinkEnd::Cause::closed);
    EXPECT_EQ(master.page->running.load(), nothing_running);
}

// G22 (Fiber)
TEST(WorkerTasks, EndsAtOnceWhenFencedOrAlone) {
    Master fenced;
    ASSERT_TRUE(fenced.wait_ready());
    fenced.send(Kind::fenced);
    EXPECT_EQ(WEXITSTATUS(fenced.wait_end()), 1);
    Master gone;
    ASSERT_TRUE(gone.wait_ready());
    gone.job<&nap, std::uint64_t>(1);
    Writer writer;
    add_arguments<&nap>(writer, std::uint64_t{60000});
    gone.batch({1, 10, 0, 1, 1, 0}, writer);
    ASSERT_TRUE(gone.wait([&] { return gone.page->running.load() != nothing_running; }));
    gone.control = nullptr;
    EXPECT_EQ(WEXITSTATUS(gone.process->wait()), 1);
}

TEST(WorkerTasks, EndsWithALineForGarbage) {
    testing::internal::CaptureStderr();
    {
        Master master;
        ASSERT_TRUE(master.wait_ready());
        master.send(Kind::tasks, BatchHead{1});
        EXPECT_EQ(WEXITSTATUS(master.wait_end()), 1);
        Master other;
        ASSERT_TRUE(other.wait_ready());
        other.batch({7, 10, 0, 1, 1, 0}, Writer());
        EXPECT_EQ(WEXITSTATUS(other.wait_end()), 1);
    }
    auto const log = testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr("pool worker 3: its master sent an invalid message"));
    EXPECT_THAT(log, HasSubstr("tasks of job 7, which has no function"));
}

}  // namespace
}  // namespace sinew::pool::test
