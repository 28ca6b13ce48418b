// SPDX-License-Identifier: Apache-2.0
// Commits that outlive the process that runs the ring.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sinew/ring.hpp>
#include <stdexcept>
#include <string>

#include "src/base/system/spawn.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/process/child/child_environment.hpp"
#include "tests/support/alternative_main.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RingFolder : public testing::Test {
protected:
    std::string folder() const { return (parent_.path() / "commits").string(); }
    RingOptions options() const { return {.folder = folder()}; }

    testing_support::LeakCheck leaks;

private:
    testing_support::TempFolder parent_;
};

/// Makes commits up to the third, continuing from those found; the n-th is 10 * rank + n. Then
/// throws.
void commit_to_three(RingMember& me) {
    int done = me.committed<int>().value_or(10 * me.rank()) - 10 * me.rank();
    while (done < 3) me.commit(10 * me.rank() + ++done);
    throw std::domain_error("done");
}

void find_three(RingMember& me) {
    if (me.committed<int>() != 10 * me.rank() + 3) throw std::logic_error("not the third");
    me.commit(10 * me.rank() + 4);
    if (me.committed<int>() != 10 * me.rank() + 4) throw std::logic_error("not the fourth");
}

void find_nothing(RingMember& me) {
    if (me.committed<int>()) throw std::logic_error("a commit of nobody's");
}

TEST_F(RingFolder, IsWhereAnotherRingGoesOn) {
    EXPECT_THROW(Ring(2, task<commit_to_three>, options()).run(), RingFailed);
    Ring(2, task<find_three>, options()).run();
    EXPECT_THROW(Ring(2, task<find_three>, options()).run(), RingFailed);  // it is the fourth
}

TEST_F(RingFolder, IsForTheCallerToo) {
    auto with_caller = options();
    with_caller.member_zero_is_caller = true;
    EXPECT_THROW(Ring(2, task<commit_to_three>, with_caller).run(), RingFailed);
    Ring(2, task<find_three>, with_caller).run();
}

TEST_F(RingFolder, OfNobodyYetIsEmpty) { Ring(2, task<find_nothing>, options()).run(); }

TEST_F(RingFolder, OfAnotherSizeIsRefused) {
    EXPECT_THROW(Ring(2, task<commit_to_three>, options()).run(), RingFailed);
    try {
        Ring(3, task<find_three>, options()).run();
        FAIL() << "it ran";
    } catch (UsageError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("is of a ring of 2 members (this one has 3)"));
    }
}

TEST_F(RingFolder, ThatIsDamagedIsRefused) {
    EXPECT_THROW(Ring(1, task<commit_to_three>, options()).run(), RingFailed);
    std::ofstream(folder() + "/commit", std::ios::app) << 'x';
    EXPECT_THROW(Ring(1, task<find_three>, options()).run(), DecodeError);
}

// For a folder in which the temporary file cannot be created.
void refused_then_taken(RingMember& me, std::string const& draft) {
    me.commit(1);
    me.communicator().barrier();
    if (me.rank() == 0) fs::create_directory(draft);
    me.communicator().barrier();
    try {
        me.commit(2);
        throw std::logic_error("nobody told");
    } catch (SystemError const& error) {
        if (std::string(error.what()).find("commit 2 does not count") == std::string::npos) throw;
        if (error.error_number() != EISDIR) throw;
    }
    if (me.committed<int>() != 1) throw std::logic_error("not the first");
    me.communicator().barrier();
    if (me.rank() == 0) fs::remove(draft);
    me.communicator().barrier();
    me.commit(3);
    if (me.committed<int>() != 3) throw std::logic_error("not the next");
}

TEST_F(RingFolder, ThatTakesNothingIsToldToAllMembers) {
    for (bool const caller : {false, true}) {
        auto with = options();
        with.member_zero_is_caller = caller;
        Ring(
            3, task<refused_then_taken>, [](RingMember&) {}, with, folder() + "/commit.new")
            .run();
        fs::remove_all(folder());
    }
}

// The writer blocks until a reader opens the FIFO in place of its file, as on a disk that does not
// respond.
TEST_F(RingFolder, ThatDoesNotAnswerFailsTheRing) {
    fs::create_directory(folder());
    fs::permissions(folder(), fs::perms::owner_all);
    auto const draft = folder() + "/commit.new";
    ASSERT_EQ(::mkfifo(draft.c_str(), 0600), 0);
    ::setenv("SINEW_TIMEOUT", "1s", 1);
    try {
        Ring(
            2, [](RingMember& me) { me.commit(1); }, options())
            .run();
        ADD_FAILURE() << "it ended in order";
    } catch (RingFailed const& error) {
        EXPECT_THAT(error.what(), HasSubstr("has not stored within 1 s"));
    }
    ::unsetenv("SINEW_TIMEOUT");
    UniqueFd const reader(::open(draft.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    EXPECT_TRUE(testing_support::eventually([&] { return !fs::exists(draft); }));
}

// Runs until a test kills it: prints a line for each commit.
int be_a_committing_parent(int, char** argv) {
    Ring ring(2,
              [](RingMember& me) {
                  for (int n = me.committed<int>().value_or(0); n < 1'000'000;) {
                      me.commit(++n);
                      if (me.rank() == 0) std::printf("%d\n", n);
                      if (me.rank() == 0) std::fflush(stdout);
                  }
              },
              {.folder = argv[2]});
    ring.run();
    return 0;
}

testing_support::AlternativeMain const committing_parent_main("--be-a-committing-parent",
                                                              be_a_committing_parent);

/// Starts a ring, kills it after `lines` lines, and returns the last line.
int last_line_of_killed(std::string const& folder, int lines) {
    auto [read_end, write_end] = make_pipe();
    auto spawned = spawn({.path = "/proc/self/exe",
                          .argv = {"ring_tests", "--be-a-committing-parent", folder},
                          .env = process::child_environment({}),
                          .folder = {},
                          .cpus = {},
                          .out = write_end.get(),
                          .keep = {},
                          .only_kept = true});
    write_end = {};
    auto* const said = ::fdopen(::dup(read_end.get()), "r");
    int last = 0;
    for (int i = 0; i < lines && std::fscanf(said, "%d", &last) == 1; ++i) {}
    ::kill(spawned.pid, SIGKILL);
    int next = 0;
    while (std::fscanf(said, "%d", &next) == 1) last = next;  // until its members have ended, too
    std::fclose(said);
    int status = 0;
    reap(spawned.pid, status);
    return last;
}

TEST_F(RingFolder, OutlivesTheProcessThatIsKilled) {
    leaks.folders_may_stay();
    int const first = last_line_of_killed(folder(), 5);
    ASSERT_GE(first, 5);
    // Printed commits were on disk; the next one may be.
    int const second = last_line_of_killed(folder(), 1);
    EXPECT_GE(second, first + 1);
    EXPECT_LE(second, first + 1'000'000);
    Ring(
        2,
        [](RingMember& me, int least) {
            if (me.committed<int>().value_or(0) < least) throw std::logic_error("lost");
        },
        [](RingMember&) {}, options(), second)
        .run();
}

}  // namespace
}  // namespace sinew
