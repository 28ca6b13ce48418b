// SPDX-License-Identifier: Apache-2.0
// Managers whose process dies and is restarted.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sinew/manager.hpp>
#include <sinew/process.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "src/base/text.hpp"
#include "tests/manager/support/tally.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

struct ManagerRestart : testing::Test {
    LeakCheck leaks;
};

ManagerOptions restarts(std::uint32_t times, Checkpoints checkpoints = {}) {
    ManagerOptions options;
    options.max_restarts = times;
    options.checkpoints = checkpoints;
    return options;
}

/// Waits until calls report that the process is gone.
template <class T>
void kill_and_see(Manager const& manager, Object<T> const& object) {
    ::kill(manager.pid(), SIGKILL);
    EXPECT_TRUE(eventually([&] {
        try {
            object.template call<&T::count>();
            return false;
        } catch (ObjectLost const&) {
            return true;
        }
    }));
}

TEST_F(ManagerRestart, HandlesAreOfThePastUntilTheyAreRefreshed) {
    Manager manager(restarts(2));
    auto tally = manager.create<Tally>(40);
    auto copy = tally;
    EXPECT_EQ(tally.call<&Tally::add>(2), 42);
    auto const before = manager.pid();
    kill_and_see(manager, tally);
    for (int i = 0; i < 2; ++i) {
        try {
            tally.call<&Tally::add>(1);
            ADD_FAILURE() << "it is called though it was made anew";
        } catch (ObjectRestarted const& error) {
            EXPECT_FALSE(error.maybe_executed());
            EXPECT_THAT(error.what(), AllOf(HasSubstr("Tally::add"), HasSubstr("refresh()")));
        }
    }
    tally.refresh();
    EXPECT_NE(manager.pid(), before);
    EXPECT_EQ(tally.call<&Tally::count>(), 40) << "from the arguments of its constructor";
    EXPECT_EQ(tally.call<&Tally::add>(5), 45);
    EXPECT_THROW(copy.call<&Tally::count>(), ObjectRestarted) << "each handle accepts for itself";
    copy.refresh();
    EXPECT_EQ(copy.call<&Tally::count>(), 45);
    copy.refresh();
    EXPECT_EQ(copy.call<&Tally::add>(1), 46) << "there was nothing to refresh";
}

TEST_F(ManagerRestart, CallsUnderWaySayWhetherTheyMayHaveBeenExecuted) {
    Manager manager(restarts(1));
    auto tally = manager.create<Tally>();
    std::vector<Reply<std::int64_t>> replies;
    for (int i = 0; i < 1000; ++i) replies.push_back(tally.async<&Tally::add>(1));
    auto const dies = tally.async<&Tally::die>();
    auto const behind = tally.async<&Tally::add>(1);
    try {
        dies.get();
        ADD_FAILURE() << "it has survived";
    } catch (ObjectRestarted const& error) {
        EXPECT_TRUE(error.maybe_executed());
    }
    EXPECT_THROW(behind.get(), ObjectRestarted);
    tally.refresh();
    EXPECT_EQ(tally.call<&Tally::add>(1), 1);
}

TEST_F(ManagerRestart, AreCountedAndTheLastDeathIsNamed) {
    Manager manager(restarts(2));
    auto tally = manager.create<Tally>();
    for (int i = 0; i < 2; ++i) {
        kill_and_see(manager, tally);
        tally.refresh();
    }
    EXPECT_THROW(tally.call<&Tally::exit_with>(3), ObjectLost);
    auto const refused = message_of<ObjectLost>([&] { tally.refresh(); });
    EXPECT_THAT(refused, AllOf(HasSubstr("exited with code 3"), HasSubstr("2 restarts")));
    EXPECT_THAT(message_of<ObjectLost>([&] { tally.call<&Tally::count>(); }),
                AllOf(HasSubstr("exited with code 3"), HasSubstr("2 restarts")));
    EXPECT_THAT(message_of<ObjectLost>([&] { manager.create<Tally>(); }),
                HasSubstr("exited with code 3"));
    try {
        tally.call<&Tally::count>();
    } catch (ObjectRestarted const&) {
        ADD_FAILURE() << "there will be no other";
    } catch (ObjectLost const&) {}
}

TEST_F(ManagerRestart, WithoutAnyThereIsNothingToRefresh) {
    Manager manager;
    auto tally = manager.create<Tally>();
    kill_and_see(manager, tally);
    EXPECT_THAT(message_of<ObjectLost>([&] { tally.refresh(); }), HasSubstr("max_restarts"));
    // The supervisor may learn of the link's end before it knows how the process died.
    EXPECT_TRUE(eventually([&] {
        return message_of<ObjectLost>([&] { tally.call<&Tally::count>(); }).find("signal 9") !=
               std::string::npos;
    }));
}

TEST_F(ManagerRestart, NamesComeBack) {
    Manager manager(restarts(2));
    manager.create<Tally>(7).publish("seven");
    auto other = manager.create<Tally>(8);
    { auto gone = manager.create<Tally>(9); }
    kill_and_see(manager, other);
    auto seven = manager.lookup<Tally>("seven");
    EXPECT_EQ(seven.call<&Tally::count>(), 7);
    other.refresh();
    EXPECT_EQ(other.call<&Tally::count>(), 8);
    EXPECT_EQ(manager.create<Tally>(1).call<&Tally::count>(), 1) << "under an id of its own";
    EXPECT_EQ(other.call<&Tally::count>(), 8);
    kill_and_see(manager, other);
    seven.refresh();
    EXPECT_EQ(seven.call<&Tally::count>(), 7);
}

int add_across_a_death(Object<Tally> tally) {
    if (tally.call<&Tally::add>(1) != 1) return 1;
    tally.call<&Tally::add>(2);
    try {
        tally.call<&Tally::die>();
        return 2;
    } catch (ObjectRestarted const& error) {
        if (!error.maybe_executed()) return 3;
    }
    tally.refresh();
    return tally.call<&Tally::add>(4) == 4 ? 0 : 4;
}

TEST_F(ManagerRestart, AreKnownInOtherProcesses) {
    Manager manager(restarts(1));
    auto tally = manager.create<Tally>();
    Process process(task<add_across_a_death>, tally);
    process.start();
    process.join();
    EXPECT_EQ(process.exitcode(), 0);
    EXPECT_THROW(tally.call<&Tally::count>(), ObjectRestarted);
    tally.refresh();
    EXPECT_EQ(tally.call<&Tally::count>(), 4);
}

// Exits when it is constructed in a restarted process, too.
class DiesWhenMadeAgain {
public:
    explicit DiesWhenMadeAgain(std::string const& file) {
        if (std::filesystem::exists(file)) ::_exit(5);
        std::filesystem::create_directory(file);
    }
    int count() const { return 0; }
};

class ThrowsWhenMadeAgain {
public:
    explicit ThrowsWhenMadeAgain(std::string const& file) {
        if (std::filesystem::exists(file)) throw std::runtime_error("once was enough");
        std::filesystem::create_directory(file);
    }
    int count() const { return 0; }
};

TEST_F(ManagerRestart, EndWhereThoseMadeAgainDieToo) {
    auto const file = std::filesystem::temp_directory_path() / text("sinew-again-", ::getpid());
    std::filesystem::remove(file);
    Manager manager(restarts(3));
    auto object = manager.create<DiesWhenMadeAgain>(file.string());
    ::kill(manager.pid(), SIGKILL);
    EXPECT_TRUE(eventually([&] {
        try {
            object.call<&DiesWhenMadeAgain::count>();
            return false;
        } catch (ObjectLost const&) {
            return true;
        }
    }));
    EXPECT_THAT(message_of<ObjectLost>([&] { object.refresh(); }),
                AllOf(HasSubstr("3 restarts"), HasSubstr("code 5")));
    std::filesystem::remove(file);
}

// A handle of an object that could not be made again never refers to a later object.
TEST_F(ManagerRestart, IdsAreOfOneLife) {
    auto const file = std::filesystem::temp_directory_path() / text("sinew-once-", ::getpid());
    std::filesystem::remove(file);
    Manager manager(restarts(1));
    auto once = manager.create<ThrowsWhenMadeAgain>(file.string());
    ::kill(manager.pid(), SIGKILL);
    EXPECT_TRUE(eventually([&] {
        try {
            once.call<&ThrowsWhenMadeAgain::count>();
            return false;
        } catch (ObjectRestarted const&) {
            return true;
        }
    }));
    std::vector<Object<Tally>> others;
    for (int i = 0; i < 3; ++i) others.push_back(manager.create<Tally>(i));
    once.refresh();
    EXPECT_THAT(message_of<ObjectLost>([&] { once.call<&ThrowsWhenMadeAgain::count>(); }),
                HasSubstr("no longer exists"));
    std::filesystem::remove(file);
}

TEST_F(ManagerRestart, AnOrderlyEndIsNoDeath) {
    Manager manager(restarts(3));
    auto tally = manager.create<Tally>();
    manager.shutdown();
    EXPECT_THAT(message_of<ObjectLost>([&] { tally.refresh(); }), HasSubstr("shut down"));
    try {
        tally.call<&Tally::count>();
        ADD_FAILURE() << "it is called after its end";
    } catch (ObjectRestarted const&) {
        ADD_FAILURE() << "there will be no other";
    } catch (ObjectLost const&) {}
}

TEST_F(ManagerRestart, AStartThatTakesTooLongIsOver) {
    Manager manager(restarts(1));
    auto tally = manager.create<Tally>();
    ASSERT_TRUE(stop_process(manager.pid()));
    auto const pending = tally.async<&Tally::add>(1);
    EXPECT_THROW(pending.get(100ms), Timeout) << "it is stopped, not dead";
    ::kill(manager.pid(), SIGKILL);
    EXPECT_THROW(pending.get(), ObjectRestarted);
    EXPECT_THROW(tally.refresh(std::chrono::nanoseconds(0)), Timeout);
    tally.refresh();
    EXPECT_EQ(tally.call<&Tally::count>(), 0);
}

// Callers may see the end of their link before the supervisor knows that the process is dead.
TEST_F(ManagerRestart, WhoIsInAHurryIsNotSentToTheDead) {
    constexpr int rounds = 30;
    Manager manager(restarts(rounds));
    auto tally = manager.create<Tally>();
    for (int round = 0; round < rounds; ++round) {
        auto const pending = tally.async<&Tally::add>(1);
        ::kill(manager.pid(), SIGKILL);
        EXPECT_THROW((pending.get(), tally.call<&Tally::count>()), ObjectRestarted);
        for (bool anew = false; !anew;) {
            try {
                tally.refresh(std::chrono::nanoseconds(0));
                anew = true;
            } catch (Timeout const&) {}
        }
        ASSERT_EQ(tally.call<&Tally::count>(), 0) << "round " << round;
    }
}

}  // namespace
}  // namespace sinew::testing_support
