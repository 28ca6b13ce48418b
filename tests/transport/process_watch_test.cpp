// SPDX-License-Identifier: Apache-2.0
#include "src/transport/process_watch.hpp"

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/support/child.hpp"

namespace sinew {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::Child;

/// Ranks 1, 2, ... are children that run until they are told to exit; rank 0 is the test.
class ProcessWatchTest : public testing::Test {
protected:
    struct Rank {
        Child child;
        UniqueFd told_to_leave;  // the test writes a byte here
    };

    static Rank start(ProcessIdentity& identity) {
        int told[2], held[2];
        if (::pipe(told) != 0 || ::pipe(held) != 0) throw std::runtime_error("pipe");
        UniqueFd read_end(told[0]), write_end(told[1]), wait_end(held[0]), leave_end(held[1]);
        Child child([&] {
            auto const mine = ProcessIdentity::mine();
            if (::write(write_end.get(), &mine, sizeof mine) != sizeof mine) return 1;
            char byte = 0;
            return ::read(wait_end.get(), &byte, 1) == 1 ? 0 : 2;
        });
        if (::read(read_end.get(), &identity, sizeof identity) != sizeof identity)
            throw std::runtime_error("the child did not tell who it is");
        return {std::move(child), std::move(leave_end)};
    }

    /// Blocks until the watch reports more than `before` ended ranks.
    static std::vector<int> change(ProcessWatch const& watch, std::size_t before = 0) {
        for (int i = 0; i < 100000 && watch.ended().size() == before; ++i)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        return watch.ended();
    }

    void SetUp() override {
        identities_[0] = ProcessIdentity::mine();
        ASSERT_NE(identities_[0].pid_namespace, 0u);
        Rank probe = start(identities_[1]);
        if (ProcessWatch(std::span(identities_).first(2), 0).watched() == 0)
            GTEST_SKIP() << "no pidfd_open here (Linux 5.3, or a filter of system calls)";
    }

    std::array<ProcessIdentity, 3> identities_;
};

TEST_F(ProcessWatchTest, SeesARankThatWasKilled) {
    Rank one = start(identities_[1]), two = start(identities_[2]);
    ProcessWatch const watch(identities_, 0);
    EXPECT_EQ(watch.watched(), 2);
    EXPECT_THAT(watch.ended(), IsEmpty());
    two.child.kill(SIGKILL);
    EXPECT_THAT(change(watch), ElementsAre(2));  // while it is still a zombie
    two.child.wait();
    EXPECT_THAT(watch.ended(), ElementsAre(2));
    one.child.kill(SIGKILL);
    EXPECT_THAT(change(watch, 1), ElementsAre(1, 2));
}

TEST_F(ProcessWatchTest, SeesARankThatExited) {
    Rank one = start(identities_[1]), two = start(identities_[2]);
    ProcessWatch const watch(identities_, 0);
    ASSERT_EQ(::write(one.told_to_leave.get(), "", 1), 1);
    EXPECT_THAT(change(watch), ElementsAre(1));
    EXPECT_EQ(one.child.wait(), 0);
}

TEST_F(ProcessWatchTest, SeesARankThatWasGoneBefore) {
    {
        Rank one = start(identities_[1]), two = start(identities_[2]);
        identities_[2].pid = one.child.pid();  // as if the pid had been reused
        identities_[2].start_time += 1;
        ProcessWatch const watch(identities_, 0);
        EXPECT_THAT(watch.ended(), ElementsAre(2));
    }
    std::span const first_two(identities_.data(), 2);
    ProcessWatch const watch(first_two, 0);
    EXPECT_THAT(watch.ended(), ElementsAre(1));
}

TEST_F(ProcessWatchTest, IsBlindToOtherHostsAndNamespaces) {
    Rank one = start(identities_[1]), two = start(identities_[2]);
    identities_[1].boot[0] ^= 1;
    identities_[2].pid_namespace += 1;
    ProcessWatch const watch(identities_, 0);
    EXPECT_EQ(watch.watched(), 0);
    one.child.kill(SIGKILL);
    two.child.kill(SIGKILL);
    one.child.wait();
    two.child.wait();
    EXPECT_THAT(watch.ended(), IsEmpty());
}

}  // namespace
}  // namespace sinew
