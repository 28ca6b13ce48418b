// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/descendants.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace sinew::launch {
namespace {

struct DescendantsTest : ::testing::Test {
    DescendantsTest() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
    ~DescendantsTest() override { ::close(alive_[0]); }

    // Starts a child that runs `what`; it and all its descendants hold the other end of a pipe.
    template <class What>
    void start(What const& what) {
        if (alive_[0] >= 0) ::close(alive_[0]);
        ASSERT_EQ(::pipe(alive_.data()), 0);
        child_ = ::fork();
        ASSERT_GE(child_, 0);
        if (child_ == 0) {
            what();
            ::_exit(0);
        }
        ::close(alive_[1]);
    }
    bool all_gone() const {
        char byte = 0;
        return ::read(alive_[0], &byte, 1) == 0;  // end of file: the last descendant has ended
    }

    pid_t child_ = 0;

private:
    std::array<int, 2> alive_{-1, -1};
};

void ignore_all() {
    for (int number = 1; number < 32; ++number) ::signal(number, SIG_IGN);
}

// A pid may be reused between reading /proc and sending the signal.
TEST_F(DescendantsTest, WhoHasTheNumberOfAnotherIsSpared) {
    start([] {
        for (;;) ::pause();
    });
    auto const life = process_life(child_);
    ASSERT_TRUE(life);
    EXPECT_EQ(life->pid, child_);
    EXPECT_FALSE(kill_life({.pid = life->pid, .start = life->start + 1}));
    EXPECT_FALSE(kill_life({.pid = life->pid, .start = life->start - 1}));
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, WNOHANG), 0) << "it was killed";
    EXPECT_TRUE(kill_life(*life));
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT_FALSE(kill_life(*life));
    EXPECT_FALSE(process_life(child_));
}

TEST_F(DescendantsTest, NoneIsNothing) { EXPECT_EQ(kill_descendants(), 0U); }

TEST_F(DescendantsTest, GrandchildrenInSessionsOfTheirOwnGo) {
    start([] {
        ignore_all();
        if (::fork() == 0) {
            ::setsid();
            ::fork();
        }
        for (;;) ::pause();
    });
    EXPECT_EQ(kill_descendants(), 0U);
    EXPECT_TRUE(all_gone());
}

// A process that becomes a daemon is below a process that is just ending; a scan may miss both.
TEST_F(DescendantsTest, WhoForksAndEndsMeanwhileDoesNotEscape) {
    for (int round = 0; round < 40; ++round) {
        start([] {
            ignore_all();
            ::setsid();
            for (int hop = 0; hop < 2000; ++hop)
                if (::fork() != 0) ::_exit(0);
            ::sleep(10);  // ends even if the test fails
        });
        EXPECT_EQ(kill_descendants(), 0U);
        ASSERT_TRUE(all_gone()) << "round " << round;
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
        EXPECT_EQ(errno, ECHILD) << "the dead are reaped";
    }
}

}  // namespace
}  // namespace sinew::launch
