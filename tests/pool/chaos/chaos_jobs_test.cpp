// SPDX-License-Identifier: Apache-2.0
// Runs chaos_program under every launcher; nothing of it must remain.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "src/base/job_folder.hpp"
#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {
namespace {

using testing::HasSubstr;

/// Less than the limit of ctest, which does not print what runs. Each scenario has its own (chaos_program.cpp).
constexpr Seconds limit_of_all{840};

class PoolChaos : public testing::Test {
protected:
    ~PoolChaos() override { std::filesystem::remove(ledger); }

    static std::string program() { return std::getenv("SINEW_TEST_CHAOS_PROGRAM"); }
    Words bare(std::string const& what) const { return {program(), "bare", ledger, what}; }
    Ended start(Words words) const {
        Launched::Setting setting;
        setting.command = {std::move(words.front())};
        words.erase(words.begin());
        return run(words, std::move(setting), limit_of_all);
    }
    static void expect_right(Ended const& ended) {
        std::cout << ended.out;
        EXPECT_EQ(ended.code, 0) << ended.err;
        EXPECT_THAT(ended.out, HasSubstr("all right")) << ended.err;
    }

    LeakCheck leaks;
    std::string const ledger =
        text(std::filesystem::temp_directory_path().string(), "/sinew-chaos-", ::getpid());
};

TEST_F(PoolChaos, Bare) { expect_right(start({program(), "bare", ledger})); }

TEST_F(PoolChaos, Run) {
    expect_right(run({"--fake-nodes", "3", "-n", "3", program(), "job", ledger}, {}, limit_of_all));
}

// With workers on one node only, and on three nodes.
TEST_F(PoolChaos, Mpirun) {
    auto const* const given = std::getenv("SINEW_TEST_MPIEXEC");
    if (given == nullptr) GTEST_SKIP() << "no MPI";
    std::istringstream split(given);
    Words const mpiexec{std::istream_iterator<std::string>(split), {}};
    auto words = mpiexec;
    words.insert(words.end(), {program(), "apart", ledger});
    expect_right(start(words));
    words = mpiexec;
    words.insert(words.end(), {program(), "job", ledger, "crash", "kill_20ms"});
    expect_right(start(words));
}

TEST_F(PoolChaos, FewDescriptors) {
    expect_right(start({"/bin/sh", "-c", "ulimit -n 64; exec \"$@\"", "sh", program(), "bare",
                        ledger, "few_descriptors"}));
}

// A file system without room for this process's folder: the pool reports it and is broken.
TEST_F(PoolChaos, NoFolder) {
    auto const folder = ledger + ".full";
    std::filesystem::create_directory(folder);
    auto const ended = start({"/usr/bin/unshare", "-m", "sh", "-c",
                              "mount -t tmpfs -o size=4k,nr_inodes=1 none \"$0\" && "
                              "echo here && SINEW_TMPDIR=$0 exec \"$@\"",
                              folder, program(), "bare", ledger, "plain"});
    std::filesystem::remove(folder);
    if (ended.out.find("here") == std::string::npos)
        GTEST_SKIP() << "no file systems of our own: " << ended.err;
    EXPECT_EQ(ended.code, 9);
    EXPECT_THAT(ended.out, HasSubstr("No space left on device"));
    EXPECT_THAT(ended.out, HasSubstr("SINEW_TMPDIR"));
}

/// A cgroup with a limit, of version 1 or 2, whichever this process may create.
class Group {
public:
    struct Limit {
        std::string controller, file_1, file_2;  ///< of version 1, of version 2
        std::size_t value;
    };
    explicit Group(Limit const& limit) {
        std::ifstream groups("/proc/self/cgroup");
        for (std::string line; std::getline(groups, line);) {
            auto const path = line.substr(line.find(':', line.find(':') + 1) + 1);
            if (line.find(':' + limit.controller + ':') != std::string::npos)
                make(text("/sys/fs/cgroup/", limit.controller, path), limit.file_1, limit.value);
            else if (line.starts_with("0::"))
                make("/sys/fs/cgroup" + path, limit.file_2, limit.value);
        }
    }
    ~Group() {
        if (path_.empty()) return;
        std::ofstream(path_ + "/freezer.state") << "THAWED" << std::flush;  // if there is one
        for (int wait = 0; ::rmdir(path_.c_str()) != 0 && wait < 100; ++wait) ::usleep(20'000);
    }
    Group(Group const&) = delete;
    std::string const& path() const { return path_; }

private:
    void make(std::string const& above, std::string const& limit, std::size_t value) {
        auto const path = text(above, "/sinew-chaos-", ::getpid());
        if (!path_.empty() || ::mkdir(path.c_str(), 0700) != 0) return;
        if (std::ofstream file(path + '/' + limit); file << value << std::flush) path_ = path;
        else ::rmdir(path.c_str());
    }
    std::string path_;
};

class PoolChaosInAGroup : public PoolChaos {
protected:
    void expect_right_within(Group::Limit const& limit, std::string const& what,
                             std::string const& words = "") {
        Group const group(limit);
        if (group.path().empty()) GTEST_SKIP() << "we may make no group of processes";
        auto const ended = start({"/bin/sh", "-c", "echo $$ >\"$0\"/cgroup.procs && exec \"$@\"",
                                  group.path(), program(), "bare", ledger, what});
        expect_right(ended);
        EXPECT_THAT(ended.err, HasSubstr(words));
    }
};

TEST_F(PoolChaosInAGroup, OutOfMemory) {
    expect_right_within({"memory", "memory.limit_in_bytes", "memory.max", std::size_t{256} << 20},
                        "out_of_memory");
}

TEST_F(PoolChaosInAGroup, FewProcesses) {
    expect_right_within({"pids", "pids.max", "pids.max", 40}, "few_processes", "first words");
}

TEST_F(PoolChaosInAGroup, Stuck) {
    Group const group({"freezer", "notify_on_release", "none of version 2", 0});
    if (group.path().empty()) GTEST_SKIP() << "we may make no group of processes that freezes them";
    Launched::Setting setting;
    setting.command = {program()};
    setting.env = {{"SINEW_TEST_FREEZER", group.path()}};
    expect_right(run({"bare", ledger, "stuck"}, std::move(setting), Seconds(100)));
}

TEST_F(PoolChaos, Soak) {
    Launched::Setting setting;
    setting.command = {program()};
    auto const* const given = std::getenv("SINEW_TEST_SOAK_SECONDS");
    auto const ended = run({"bare", ledger, "soak"}, std::move(setting),
                           Seconds(60 + (given != nullptr ? std::atoi(given) : 20)));
    expect_right(ended);
}

// The workers end with their master. (Processes that tasks have started are not ended.)
TEST_F(PoolChaos, MasterDies) {
    Launched::Setting setting;
    setting.command = {program()};
    Launched master({"bare", ledger, "hold"}, std::move(setting));
    ASSERT_TRUE(master.says("at work"));
    ::kill(master.pid(), SIGKILL);
    auto const killed = std::chrono::steady_clock::now();
    EXPECT_EQ(master.wait(Seconds(10)).code, 128 + SIGKILL);
    EXPECT_LT(Seconds(std::chrono::steady_clock::now() - killed), Seconds(15))
        << "its workers slept on";
    // A killed process cannot remove its folder: the next sinew process on this machine does.
    remove_stale_folders();
}

// Under an agent, processes that tasks have started end, too.
TEST_F(PoolChaos, MasterDiesInAJob) {
    Launched job({"--fake-nodes", "3", "-n", "3", program(), "job", ledger, "hold_with_others"});
    ASSERT_TRUE(job.says("at work"));
    ::kill(job.rank(0), SIGKILL);
    EXPECT_EQ(job.wait(Seconds(20)).code, 128 + SIGKILL);
    remove_stale_folders();
}

}  // namespace
}  // namespace sinew::testing_support
