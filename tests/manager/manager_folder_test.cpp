// SPDX-License-Identifier: Apache-2.0
// Published objects that outlive the process that made their manager.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sinew/manager.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "src/base/system/spawn.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/process/child/child_environment.hpp"
#include "tests/manager/support/tally.hpp"
#include "tests/support/alternative_main.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::testing_support {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

ManagerOptions in_folder(std::string const& folder, std::uint32_t restarts = 0) {
    ManagerOptions options;
    options.folder = folder;
    options.max_restarts = restarts;
    return options;
}

class ManagerFolder : public testing::Test {
protected:
    std::string folder() const { return (parent_.path() / "objects").string(); }
    ManagerOptions options(std::uint32_t restarts = 0) const {
        return in_folder(folder(), restarts);
    }
    LeakCheck leaks;

private:
    TempFolder parent_;
};

TEST_F(ManagerFolder, HasPublishedObjectsForTheNextManager) {
    {
        Manager manager(options());
        auto const tally = manager.create<Tally>(1);
        tally.publish("tally");
        tally.call<&Tally::add>(10);
        tally.checkpoint();
        tally.call<&Tally::add>(100);
        auto const fresh = manager.create<Tally>(7);
        fresh.publish("fresh");
        fresh.publish("the same");
        manager.create<Tally>(1000).checkpoint();  // has no name
    }
    Manager manager(options());
    auto const tally = manager.lookup<Tally>("tally");
    EXPECT_EQ(tally.call<&Tally::count>(), 11) << "the last checkpoint";
    EXPECT_EQ(manager.lookup<Tally>("fresh").call<&Tally::count>(), 7) << "as it was constructed";
    manager.lookup<Tally>("fresh").call<&Tally::add>(1);
    EXPECT_EQ(manager.lookup<Tally>("the same").call<&Tally::count>(), 8) << "one object";
    // New objects get other files.
    auto const next = manager.create<Tally>(5);
    next.publish("next");
    EXPECT_EQ(tally.call<&Tally::count>(), 11);
    EXPECT_EQ(next.call<&Tally::count>(), 5);
}

TEST_F(ManagerFolder, GoesOnOverManyManagers) {
    for (int turn = 0; turn < 4; ++turn) {
        Manager manager(options());
        auto const tally =
            turn == 0 ? manager.create<CarefulTally>(0) : manager.lookup<CarefulTally>("tally");
        if (turn == 0) tally.publish("tally");
        EXPECT_EQ(tally.call<&CarefulTally::add>(1), turn + 1);
    }
}

TEST_F(ManagerFolder, IsBesideRestarts) {
    {
        Manager manager(options(2));
        auto tally = manager.create<CarefulTally>(1);
        tally.publish("tally");
        tally.call<&CarefulTally::add>(1);
        EXPECT_THROW(tally.call<&CarefulTally::die>(), ObjectRestarted);
        tally.refresh();
        EXPECT_EQ(tally.call<&CarefulTally::add>(1), 3);
    }
    Manager manager(options(2));
    auto tally = manager.lookup<CarefulTally>("tally");
    EXPECT_EQ(tally.call<&CarefulTally::add>(1), 4);
    EXPECT_THROW(tally.call<&CarefulTally::die>(), ObjectRestarted);
    tally.refresh();
    EXPECT_EQ(tally.call<&CarefulTally::count>(), 4);
}

TEST_F(ManagerFolder, WithoutRestartsItsObjectsAreLostWithTheProcess) {
    Manager manager(options());
    auto const tally = manager.create<CarefulTally>(1);
    tally.publish("tally");
    EXPECT_THROW(tally.call<&CarefulTally::die>(), ObjectLost);
}

TEST_F(ManagerFolder, IsForOneManagerAtATime) {
    Manager const manager(options());
    EXPECT_THAT(message_of<Error>([&] { Manager const other(options()); }),
                HasSubstr("a folder of its own"));
}

TEST_F(ManagerFolder, ThatIsDamagedIsRefused) {
    { Manager(options()).create<Tally>(1).publish("tally"); }
    std::ofstream(folder() + "/object-1", std::ios::app) << 'x';
    EXPECT_THROW(Manager{options()}, DecodeError);
    fs::remove(folder() + "/object-1");
    Manager const manager(options());
}

// The error for an unknown type advises to remove its file.
TEST_F(ManagerFolder, GivesNoNewObjectTheStateOfOneThatWasRemoved) {
    {
        Manager manager(options());
        auto const tally = manager.create<Tally>(1);
        tally.publish("tally");
        tally.call<&Tally::add>(100);
        tally.checkpoint();
    }
    fs::remove(folder() + "/object-1");
    {
        Manager manager(options());
        EXPECT_THROW(manager.lookup<Tally>("tally"), Error);
        manager.create<Tally>(5).publish("tally");
    }
    Manager manager(options());
    EXPECT_EQ(manager.lookup<Tally>("tally").call<&Tally::count>(), 5);
}

// A call whose effect cannot be written fails.
TEST_F(ManagerFolder, ThatTakesNothingFailsWhatWasToBeKept) {
    Manager manager(options());
    auto const tally = manager.create<CarefulTally>(1);
    tally.publish("tally");
    fs::create_directory(folder() + "/state-1.new");
    auto const words = message_of<Error>([&] { tally.call<&CarefulTally::add>(1); });
    EXPECT_THAT(words, HasSubstr("it was executed, but its effect could not be saved"));
    EXPECT_THAT(words, HasSubstr("Is a directory"));
    fs::remove(folder() + "/state-1.new");
    EXPECT_EQ(tally.call<&CarefulTally::add>(1), 3);
}

TEST_F(ManagerFolder, ThatDoesNotAnswerFailsWhatWasToBeKept) {
    ::setenv("SINEW_TIMEOUT", "1s", 1);
    Manager manager(options());
    ::unsetenv("SINEW_TIMEOUT");
    auto const tally = manager.create<CarefulTally>(1);
    tally.publish("tally");
    auto const draft = folder() + "/state-1.new";
    ASSERT_EQ(::mkfifo(draft.c_str(), 0600), 0);  // opening it blocks until there is a reader
    EXPECT_THAT(message_of<Error>([&] { tally.call<&CarefulTally::add>(1); }),
                HasSubstr("has not stored it within 1 s"));
    UniqueFd const reader(::open(draft.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    EXPECT_TRUE(eventually([&] { return !fs::exists(draft); }));
    EXPECT_EQ(tally.call<&CarefulTally::add>(1), 3);
}

/// Cannot be restored while a file of this name exists.
struct Fragile {
    explicit Fragile(std::string obstacle_) : obstacle(std::move(obstacle_)) {}
    int value() const { return 5; }
    int save() const { return 5; }
    void restore(int) const {
        if (fs::exists(obstacle)) throw std::runtime_error("in the way");
    }
    std::string obstacle;
};

TEST_F(ManagerFolder, KeepsWhatCannotBeMadeAgainForLater) {
    auto const obstacle = folder() + ".obstacle";
    {
        Manager manager(options());
        auto const fragile = manager.create<Fragile>(obstacle);
        fragile.publish("fragile");
        fragile.checkpoint();
    }
    std::ofstream(obstacle) << 'x';
    {
        Manager manager(options());
        EXPECT_THROW(manager.lookup<Fragile>("fragile"), Error);
    }
    fs::remove(obstacle);
    Manager manager(options());
    EXPECT_EQ(manager.lookup<Fragile>("fragile").call<&Fragile::value>(), 5);
}

// Runs until a test kills it: adds 1 repeatedly, each kept, and prints each.
int be_a_keeping_maker(int, char** argv) {
    Manager manager(in_folder(argv[2]));
    auto const tally = [&] {
        try {
            return manager.lookup<CarefulTally>("tally");
        } catch (UsageError const&) {
            auto const made = manager.create<CarefulTally>(0);
            made.publish("tally");
            return made;
        }
    }();
    for (;;) {
        std::printf("%lld\n", static_cast<long long>(tally.call<&CarefulTally::add>(1)));
        std::fflush(stdout);
    }
}

AlternativeMain const keeping_maker_main("--be-a-keeping-supervisor", be_a_keeping_maker);

TEST_F(ManagerFolder, OutlivesAMakerThatIsKilled) {
    leaks.folders_may_stay();
    long long last = 0;
    for (int turn = 0; turn < 5; ++turn) {
        auto [read_end, write_end] = make_pipe();
        auto const spawned =
            spawn({.path = "/proc/self/exe",
                   .argv = {"manager_tests", "--be-a-keeping-supervisor", folder()},
                   .env = process::child_environment({}),
                   .folder = {},
                   .cpus = {},
                   .out = write_end.get(),
                   .keep = {},
                   .only_kept = true});
        ASSERT_EQ(spawned.error, 0) << spawned.step;
        write_end = UniqueFd();
        auto* const said = ::fdopen(::dup(read_end.get()), "r");
        long long count = 0;
        ASSERT_EQ(std::fscanf(said, "%lld", &count), 1);
        // All answered calls are kept; one call that was not answered may be.
        EXPECT_GE(count, last + 1);
        EXPECT_LE(count, last + 2);
        for (int i = 0; i < 3 + turn; ++i) ASSERT_EQ(std::fscanf(said, "%lld", &count), 1);
        ::kill(spawned.pid, SIGKILL);
        for (last = count; std::fscanf(said, "%lld", &count) == 1;) last = count;
        std::fclose(said);
        int status = 0;
        reap(spawned.pid, status);
    }
}

}  // namespace
}  // namespace sinew::testing_support
