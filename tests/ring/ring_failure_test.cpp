// SPDX-License-Identifier: Apache-2.0
// Every way in which a member can fail: all members end, and the cause is named, in bounded time.
// (Fiber: G9.)
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sinew/remote_error.hpp>
#include <sinew/ring.hpp>
#include <stdexcept>
#include <thread>

#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"
#include "src/process/child/child_environment.hpp"
#include "tests/support/alternative_main.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing_support::eventually;
using testing_support::is_alive;

// Members that fail before main(), as with a missing library or a static object.
[[maybe_unused]] bool const early = [] {
    char const* const how = std::getenv("SINEW_TEST_EARLY");
    if (how == nullptr || std::getenv("SINEW_CHILD") == nullptr) return false;
    std::fprintf(stderr, "early words\n");
    if (std::string_view(how) == "hang")
        for (;;) ::pause();
    std::abort();
}();

void reduce_for_ever(RingMember& me) {
    for (;;) me.communicator().allreduce_value(1.0, sum);
}

template <int rank, int signal>
void raise_in(RingMember& me) {
    for (int step = 0;; ++step) {
        if (me.rank() == rank && step == 20) ::raise(signal);
        me.communicator().allreduce_value(1.0, sum);
    }
}

class RingFailure : public testing::Test {
protected:
    /// The time limit of run(). Two seconds are required only with SINEW_TEST_PROMPT=1, since a
    /// busy machine may take longer.
    static std::chrono::seconds usual_limit() {
        return std::getenv("SINEW_TEST_PROMPT") == nullptr ? 20s : 2s;
    }
    static RingFailed failure_of(Ring ring, std::chrono::seconds limit = usual_limit()) {
        auto const begin = std::chrono::steady_clock::now();
        try {
            ring.run();
        } catch (RingFailed const& error) {
            auto const took = std::chrono::steady_clock::now() - begin;
            EXPECT_LT(took, limit);
            testing::Test::RecordProperty(
                "ms", static_cast<int>(
                          std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
            for (auto const& status : error.statuses())
                EXPECT_TRUE(eventually([&] { return !is_alive(status.pid); })) << status.rank;
            return error;
        }
        ADD_FAILURE() << "nobody told";
        return {"", {}, {}, nullptr};
    }
    testing_support::LeakCheck leaks;
};

TEST_F(RingFailure, NamesWhoWasKilledInAnAllreduce) {
    auto const error = failure_of(Ring(4, task<raise_in<2, SIGKILL>>, {.name = "doomed"}));
    EXPECT_EQ(error.rank(), 2);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("doomed: rank 2 of 4 on "), HasSubstr(error.host()),
                                    HasSubstr(text("(pid ", error.pid(), ")")),
                                    HasSubstr("killed by signal 9 (Killed)")));
    EXPECT_EQ(error.cause(), nullptr);
    ASSERT_EQ(error.statuses().size(), 4u);
    // The others were in the allreduce, and name the lost member if they get to it in time.
    for (std::size_t rank : {0, 1, 3})
        EXPECT_THAT(error.statuses()[rank].end,
                    AnyOf(HasSubstr("threw sinew::PeerLost"), HasSubstr("ended by the ring")));
}

TEST_F(RingFailure, NamesMemberZero) {
    auto const error = failure_of(Ring(3, task<raise_in<0, SIGKILL>>));
    EXPECT_EQ(error.rank(), 0);
    EXPECT_THAT(error.reason(), HasSubstr("killed by signal 9"));
}

TEST_F(RingFailure, OfOneMemberIsNamed) {
    EXPECT_EQ(failure_of(Ring(1, task<raise_in<0, SIGTERM>>)).reason(),
              "killed by signal 15 (Terminated)");
}

TEST_F(RingFailure, BringsExceptionsBackByTheirType) {
    auto const error = failure_of(Ring(3, [](RingMember& me) {
        if (me.rank() == 1) throw std::out_of_range("no such cell");
        reduce_for_ever(me);
    }));
    EXPECT_EQ(error.rank(), 1);
    EXPECT_THAT(error.reason(), HasSubstr("threw std::out_of_range: no such cell"));
    try {
        std::rethrow_exception(error.cause());
    } catch (std::out_of_range const& cause) {
        EXPECT_STREQ(cause.what(), "no such cell");
        auto const* remote = dynamic_cast<RemoteException const*>(&cause);
        ASSERT_NE(remote, nullptr);
        EXPECT_EQ(remote->record().pid, error.pid());
    }
    EXPECT_THAT(error.statuses()[0].end,  // it was informed
                AnyOf(HasSubstr("no such cell"), HasSubstr("ended by the ring")));
}

TEST_F(RingFailure, OfInitIsToldLikeTheTargets) {
    auto const error = failure_of(Ring(
        2,
        [](RingMember& me) {
            if (me.rank() == 1) throw std::invalid_argument("no such file");
        },
        task<reduce_for_ever>));
    EXPECT_EQ(error.rank(), 1);
    EXPECT_THROW(std::rethrow_exception(error.cause()), std::invalid_argument);
}

// A member that computes does not notice, and is ended.
TEST_F(RingFailure, EndsThoseWhoDoNotListen) {
    auto const error = failure_of(Ring(3,
                                       [](RingMember& me) {
                                           if (me.rank() == 0) ::signal(SIGTERM, SIG_IGN);
                                           me.communicator().barrier();
                                           if (me.rank() == 2) ::raise(SIGUSR1);
                                           for (;;) ::pause();
                                       },
                                       {.grace = 100ms}));
    EXPECT_EQ(error.rank(), 2);
    EXPECT_THAT(error.statuses()[0].end, HasSubstr("ended by the ring (killed by signal 9"));
    EXPECT_THAT(error.statuses()[1].end, HasSubstr("ended by the ring (killed by signal 15"));
}

TEST_F(RingFailure, IsAnExitBeforeTheTargetReturned) {
    auto const error = failure_of(Ring(2, [](RingMember& me) {
        if (me.rank() == 1) std::exit(3);
        reduce_for_ever(me);
    }));
    EXPECT_EQ(error.rank(), 1);
    EXPECT_EQ(error.reason(), "exited with code 3 before its target had returned");
}

TEST_F(RingFailure, HasTheLastWordsOfTheDead) {
    auto const error = failure_of(Ring(2, [](RingMember& me) {
        if (me.rank() == 1) {
            std::fprintf(stderr, "no more memory on shelf 7\n");
            ::raise(SIGABRT);
        }
        reduce_for_ever(me);
    }));
    EXPECT_THAT(error.what(), HasSubstr("no more memory on shelf 7"));
}

TEST_F(RingFailure, NamesWhoWasStopped) {
    auto const error = failure_of(Ring(3, task<raise_in<1, SIGSTOP>>, {.silence = 1s}), 40s);
    EXPECT_EQ(error.rank(), 1);
    EXPECT_THAT(error.reason(), HasSubstr("gave no sign of life for 1 s"));
}

TEST_F(RingFailure, OfOneThatDiesAtItsStartHasItsLog) {
    ::setenv("SINEW_TEST_EARLY", "abort", 1);
    auto const error = failure_of(Ring(3, task<reduce_for_ever>));
    ::unsetenv("SINEW_TEST_EARLY");
    EXPECT_THAT(error.what(), AllOf(HasSubstr("before it had joined"), HasSubstr("early words")));
}

TEST_F(RingFailure, OfOneThatHangsAtItsStartIsBounded) {
    ::setenv("SINEW_TEST_EARLY", "hang", 1);
    auto const error = failure_of(Ring(2, task<reduce_for_ever>, {.start_timeout = 300ms}));
    ::unsetenv("SINEW_TEST_EARLY");
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("has not joined within 0.3 s"), HasSubstr("start_timeout")));
}

TEST_F(RingFailure, IsACommitThatOneDoesNotMake) {
    auto const error = failure_of(Ring(3, [](RingMember& me) {
        if (me.rank() != 1) me.commit(me.rank());
    }));
    EXPECT_EQ(error.rank(), 1);
    EXPECT_THAT(error.reason(), HasSubstr("returned without commit 1, for which rank"));
}

TEST_F(RingFailure, IsACommitThatOneDoesNotComeTo) {
    ::setenv("SINEW_TIMEOUT", "1s", 1);
    auto const error = failure_of(Ring(2, [](RingMember& me) {
        if (me.rank() == 1)
            for (;;) ::pause();
        me.commit(1);
    }));
    ::unsetenv("SINEW_TIMEOUT");
    EXPECT_EQ(error.rank(), 1);
    EXPECT_THAT(error.reason(), HasSubstr("has not come to commit 1 within 1 s, for which rank 0"));
}

// A ring at work, for a test that kills it; prints the pids of its members.
int be_a_parent(int, char**) {
    Ring ring(3, [](RingMember& me) {
        double value = 1;
        me.communicator().allreduce(std::span(&value, 1), sum);
        std::printf("%d\n", ::getpid());
        std::fflush(stdout);
        for (;;) {
            if (me.rank() == 0) ::pause();
            me.communicator().allreduce(std::span(&value, 1), sum);
        }
    });
    ring.run();
    return 0;
}

testing_support::AlternativeMain const parent_main("--be-a-parent", be_a_parent);

TEST_F(RingFailure, LeavesNothingWhenTheParentIsKilled) {
    leaks.folders_may_stay();
    auto [read_end, write_end] = make_pipe();
    auto spawned = spawn({.path = "/proc/self/exe",
                          .argv = {"ring_tests", "--be-a-parent"},
                          .env = process::child_environment({}),
                          .folder = {},
                          .cpus = {},
                          .out = write_end.get(),
                          .keep = {},
                          .only_kept = true});
    ASSERT_EQ(spawned.error, 0) << spawned.step;
    write_end = UniqueFd();
    std::vector<pid_t> members;
    std::FILE* const lines = ::fdopen(::dup(read_end.get()), "r");
    for (int pid = 0; members.size() < 3 && std::fscanf(lines, "%d", &pid) == 1;)
        members.push_back(pid);
    std::fclose(lines);
    EXPECT_EQ(members.size(), 3u);
    ::kill(spawned.pid, SIGKILL);
    ::waitpid(spawned.pid, nullptr, 0);
    for (pid_t const pid : members) EXPECT_TRUE(eventually([&] { return !is_alive(pid); })) << pid;
}

}  // namespace
}  // namespace sinew
