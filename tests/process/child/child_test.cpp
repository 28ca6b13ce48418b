// SPDX-License-Identifier: Apache-2.0
#include "src/process/child/child.hpp"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sinew/error.hpp>
#include <thread>

#include "src/base/text.hpp"
#include "tests/process/support/children.hpp"

namespace sinew::process {
namespace {

using namespace std::chrono_literals;
using test::Heard;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

ChildSpec spec(std::string role, std::string_view words = "") {
    auto const message = test::bytes(words);
    return {.role = std::move(role),
            .name = "a test's child",
            .message = {message.begin(), message.end()},
            .cpus = {},
            .env = {}};
}

int number(ChildStart const& start) { return std::atoi(test::string(start.message).c_str()); }

/// The roles of this program's child processes.
ChildRole const roles[] = {
    {"exit", [](ChildStart& start) { return number(start); }},
    {"die",
     [](ChildStart& start) {
         ::raise(number(start));
         return 0;
     }},
    {"abort before anything", [](ChildStart&) -> int { std::abort(); }},
    {"echo on channel",
     [](ChildStart& start) {
         test::ParentLinks parent(start);
         parent.serve([](auto& links, auto const& message) {
             links.control->send(message.kind, 0, {message.payload});
         });
         return 7;
     }},
    {"say what you are",
     [](ChildStart& start) {
         test::ParentLinks parent(start);
         {
             std::lock_guard const lock(Runtime::instance().guard());
             parent.send(text(start.role, '|', start.name, '|', start.parent_name));
             parent.send(Runtime::instance().secret().hex());
             parent.send(std::getenv("SINEW_CHILD") == nullptr ? "clean" : "not clean");
             parent.send(std::getenv("OMPI_COMM_WORLD_RANK") == nullptr ? "no rank" : "a rank");
             parent.send(std::getenv("OF_THE_TEST"));
             parent.control->flush();
         }
         return 0;
     }},
    {"say much and die",
     [](ChildStart& start) {
         test::ParentLinks parent(start);
         std::lock_guard const lock(Runtime::instance().guard());
         for (int i = 0; i < 100; ++i) {
             parent.control->send_now(0, 0, {test::bytes(std::to_string(i))});
             parent.bulk->send_now(0, 0, {test::bytes(std::string(100, 'b'))});
         }
         ::raise(SIGKILL);
         return 0;
     }},
    {"write to stderr",
     [](ChildStart& start) {
         for (int i = 0; i < number(start); ++i) std::fprintf(stderr, "line %d\n", i);
         return 3;
     }},
    {"note a status",
     [](ChildStart& start) {
         start.status->running = 42;
         start.status->verdict = 5;
         ::raise(SIGKILL);
         return 0;
     }},
    {"leave a heir",
     [](ChildStart&) {
         if (::fork() == 0) {  // inherits all descriptors
             ::sleep(4);
             ::_exit(0);
         }
         return 9;
     }},
    {"sleep",
     [](ChildStart&) {
         for (;;) ::pause();
         return 0;
     }},
};

[[maybe_unused]] bool const nursery_roles_added = [] {
    for (auto const& role : roles) add_role(role);
    return true;
}();

TEST(ChildTable, TellsHowAChildEnded) {
    Heard fine(spec("exit", "0")), code(spec("exit", "41")), killed(spec("die", "9")),
        unknown(spec("no such role"));
    EXPECT_EQ(fine.wait_for_end().code, 0);
    EXPECT_EQ(fine.wait_for_end().signal, 0);
    EXPECT_EQ(code.wait_for_end().code, 41);
    EXPECT_EQ(code.wait_for_end().text(), "exited with code 41");
    EXPECT_EQ(killed.wait_for_end().signal, 9);
    EXPECT_FALSE(killed.wait_for_end().out_of_memory);
    EXPECT_EQ(killed.wait_for_end().text(), "killed by signal 9 (Killed)");
    EXPECT_EQ(unknown.wait_for_end().code, 1);
    EXPECT_THAT(unknown.wait_for_end().log, HasSubstr("\"no such role\" (unknown here)"));
}

TEST(ChildTable, AChildKnowsWhoItIs) {
    ::setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    auto what = spec("say what you are");
    what.env = {"OF_THE_TEST=yes"};
    Heard child(what);
    ::unsetenv("OMPI_COMM_WORLD_RANK");
    child.wait_for_end();
    auto& runtime = Runtime::instance();
    EXPECT_THAT(child.control, ElementsAre("say what you are|a test's child|" + runtime.name(),
                                           runtime.secret().hex(), "clean", "no rank", "yes"));
}

TEST(ChildTable, MessagesGoBothWaysOnBothLinks) {
    Heard child(spec("echo on channel"));
    std::string const large(std::size_t{40} << 20, 'x');
    child.send("first");
    child.send(large);
    child.send("third");
    ASSERT_TRUE(child.wait_for([](auto const& heard) { return heard.control.size() == 3; }));
    child.send_bulk("fourth");
    ASSERT_TRUE(child.wait_for([](auto const& heard) { return heard.control.size() == 4; }));
    EXPECT_EQ(child.control[0], "first");
    EXPECT_TRUE(child.control[1] == large);
    EXPECT_EQ(child.control[3], "fourth");
}

TEST(ChildTable, TheEndComesAfterAllThatWasSaid) {
    Heard child(spec("say much and die"), false);
    std::this_thread::sleep_for(200ms);  // it is dead before its messages are read
    child.listen();
    EXPECT_EQ(child.wait_for_end().signal, SIGKILL);
    EXPECT_EQ(child.control.size(), 100u);
    EXPECT_EQ(child.bulk.size(), 100u);
    EXPECT_EQ(child.ends, 1);
}

TEST(ChildTable, KeepsTheLastLinesOfStandardError) {
    Heard few(spec("write to stderr", "3")), many(spec("write to stderr", "20000"));
    EXPECT_EQ(few.wait_for_end().log, "line 0\nline 1\nline 2\n");
    auto const log = many.wait_for_end().log;
    EXPECT_THAT(log, EndsWith("line 19998\nline 19999\n"));
    EXPECT_LE(log.size(), 4096u);
    EXPECT_GE(log.size(), 4000u);
    EXPECT_EQ(log.substr(0, 5), "line ");
}

TEST(ChildTable, TheStatusPageOutlivesTheChild) {
    Heard sleeping(spec("sleep"));
    EXPECT_EQ(sleeping.status().running, ~std::uint64_t{0});
    Heard child(spec("note a status"));
    child.wait_for_end();
    EXPECT_EQ(child.status().running, 42u);
    EXPECT_EQ(child.status().verdict, 5u);
}

TEST(ChildTable, SignalsReachAChildAndItsSentinelTells) {
    Heard child(spec("sleep"));
    pollfd waiting{child.sentinel(), POLLIN, 0};
    EXPECT_EQ(::poll(&waiting, 1, 0), 0);
    child.signal(SIGTERM);
    EXPECT_EQ(::poll(&waiting, 1, 60'000), 1);
    EXPECT_EQ(child.wait_for_end().signal, SIGTERM);
}

TEST(ChildTable, ASilentChildIsSuspectAndComesBack) {
    Heard child(spec("echo on channel"));
    child.send("are you there");
    ASSERT_TRUE(child.wait_for([](auto const& heard) { return !heard.control.empty(); }));
    child.signal(SIGSTOP);
    ASSERT_TRUE(child.wait_for([](auto const& heard) { return !heard.liveness.empty(); }));
    EXPECT_EQ(child.liveness.front(), wire::Liveness::suspect);
    child.signal(SIGCONT);
    ASSERT_TRUE(child.wait_for([](auto const& heard) { return heard.liveness.size() == 2; }));
    EXPECT_EQ(child.liveness.back(), wire::Liveness::alive);
}

TEST(ChildTable, ADroppedHandleEndsTheChildWithoutACall) {
    Heard child(spec("sleep"));
    child.drop();
    for (int i = 0; i < 3000 && ::kill(child.pid(), 0) == 0; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_NE(::kill(child.pid(), 0), 0) << "not gone, or not reaped";
    EXPECT_EQ(child.ends, 0);
}

TEST(ChildTable, WhatAChildForkedDoesNotDelayItsEnd) {
    auto const since = wire::Clock::now();
    Heard child(spec("leave a heir"));
    EXPECT_EQ(child.wait_for_end().code, 9);
    EXPECT_LT(wire::Clock::now() - since, 4s);
}

TEST(ChildTable, AManyTimesRepeatedStartLeavesNothing) {
    Heard(spec("exit", "0")).wait_for_end();
    int const before = test::open_descriptors();
#if defined(SINEW_TEST_TSAN) || defined(SINEW_TEST_ASAN)
    constexpr int starts = 100;
#else
    constexpr int starts = 1000;
#endif
    for (int i = 0; i < starts; ++i) {
        Heard child(spec(i % 2 == 0 ? "exit" : "abort before anything", "0"));
        child.wait_for_end();
    }
    EXPECT_LE(test::open_descriptors(), before + 2);
}

TEST(ChildTable, WithoutDescriptorsItSaysSo) {
#ifdef SINEW_TEST_ASAN
    GTEST_SKIP() << "the sanitizer itself needs descriptors, and takes their want for our fault";
#endif
    Heard(spec("exit", "0")).wait_for_end();
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit const few{static_cast<rlim_t>(test::open_descriptors() + 1), before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    EXPECT_THROW(Heard{spec("exit")}, SystemError);
    ::setrlimit(RLIMIT_NOFILE, &before);
    Heard again(spec("exit", "4"));
    EXPECT_EQ(again.wait_for_end().code, 4);
}

}  // namespace
}  // namespace sinew::process
