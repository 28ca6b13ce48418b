// SPDX-License-Identifier: Apache-2.0
// Pools over the ranks of `sinew run`, whose nodes are told apart by name.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using testing::HasSubstr;

class CommunicatorPool : public testing::Test {
protected:
    CommunicatorPool() { std::filesystem::remove(ledger); }
    ~CommunicatorPool() override { std::filesystem::remove(ledger); }

    static std::string program() { return std::getenv("SINEW_TEST_POOL_PROGRAM"); }
    Words job(int nodes, int ranks, std::string const& what) const {
        return {"--no-kill", "--fake-nodes", text(nodes), "-n",
                text(ranks), program(),      what,        ledger};
    }
    void expect_right(Words const& words) const {
        auto const ended = run(words, {}, Seconds(100));
        EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
        EXPECT_THAT(ended.out, HasSubstr("right")) << ended.err;
    }
    /// Waits until tasks are being executed.
    bool works() const {
        return eventually(
            [this] {
                return std::filesystem::exists(ledger) && std::filesystem::file_size(ledger) > 1000;
            },
            Seconds(40));
    }
    /// The line of /proc/PID/status that begins with `word`.
    static std::string status_of(pid_t pid, std::string const& word) {
        std::ifstream lines(text("/proc/", pid, "/status"));
        for (std::string line; std::getline(lines, line);)
            if (line.starts_with(word)) return line.substr(word.size());
        return {};
    }
    /// Peak resident memory in MiB.
    static int most_memory_of(pid_t pid) {
        return std::atoi(status_of(pid, "VmHWM:").c_str()) / 1024;
    }
    static std::vector<pid_t> workers_of(pid_t supervisor) {
        std::vector<pid_t> found;
        for (auto const& each : descendants_of(supervisor))
            if (each.command.find("sinew pool worker") != std::string::npos)
                found.push_back(each.pid);
        return found;
    }

    LeakCheck leaks;
    std::string const ledger =
        text(std::filesystem::temp_directory_path().string(), "/sinew-ledger-", ::getpid());
};

struct Layout {
    int nodes, ranks;
};
class CommunicatorPools : public CommunicatorPool, public testing::WithParamInterface<Layout> {};

TEST_P(CommunicatorPools, MapOverAllNodes) {
    expect_right(job(GetParam().nodes, GetParam().ranks, "map"));
}

TEST_P(CommunicatorPools, ReplaceWorkersThatDie) {
    expect_right(job(GetParam().nodes, GetParam().ranks, "kill"));
}

TEST_P(CommunicatorPools, CarryLargeArgumentsAndResults) {
    expect_right(job(GetParam().nodes, GetParam().ranks, "large"));
}

TEST_P(CommunicatorPools, TasksUseQueues) {
    expect_right(job(GetParam().nodes, GetParam().ranks, "queue"));
}

TEST_P(CommunicatorPools, TasksMakeQueuesForAll) {
    expect_right(job(GetParam().nodes, GetParam().ranks, "worker_queues"));
}

INSTANTIATE_TEST_SUITE_P(Layouts, CommunicatorPools,
                         testing::Values(Layout{1, 1}, Layout{1, 2}, Layout{2, 2}, Layout{3, 5}),
                         [](auto const& each) {
                             return text(each.param.nodes, "nodes", each.param.ranks, "ranks");
                         });

TEST_F(CommunicatorPool, HasAWorkerForEachCoreOfAllNodes) { expect_right(job(2, 2, "default")); }

TEST_F(CommunicatorPool, MayHaveNothingToDo) { expect_right(job(2, 3, "nothing")); }

TEST_F(CommunicatorPool, WorkersOfAllNodesHaveTheirResources) {
    expect_right(job(2, 2, "resources"));
}

TEST_F(CommunicatorPool, OutlivesARemoteWorkerKilledFromOutside) {
    Launched launched(job(2, 2, "lasting"));
    ASSERT_TRUE(works());
    auto const workers = workers_of(launched.rank(1));
    ASSERT_EQ(workers.size(), 2U);
    ::kill(workers.front(), SIGKILL);
    auto const ended = launched.wait(Seconds(60));
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("0 lost, 1 deaths"));
    EXPECT_THAT(ended.out, HasSubstr("right"));
}

TEST_F(CommunicatorPool, OutlivesASupervisor) {
    leaks.folders_may_stay();  // of the killed rank: the next sinew removes it
    Launched launched(job(3, 3, "lasting"));
    ASSERT_TRUE(works());
    ::kill(launched.rank(2), SIGKILL);
    auto const ended = launched.wait(Seconds(80));
    EXPECT_EQ(ended.code, 128 + SIGKILL);  // of the job: a rank has died
    EXPECT_THAT(ended.out, HasSubstr("0 lost"));
    EXPECT_THAT(ended.out, HasSubstr("right"));
    EXPECT_THAT(ended.err, HasSubstr("is lost"));
    EXPECT_THAT(ended.out, HasSubstr("ended 1"));
}

TEST_F(CommunicatorPool, BeginsNoTaskTwiceWhereThatIsNotWanted) {
    leaks.folders_may_stay();
    Launched launched(job(2, 2, "once"));
    ASSERT_TRUE(works());
    ::kill(launched.rank(1), SIGKILL);
    auto const ended = launched.wait(Seconds(80));
    EXPECT_THAT(ended.out, HasSubstr("right")) << ended.err;
}

// What a slow rank 0 does not receive stays with the workers.
TEST_F(CommunicatorPool, ASupervisorDoesNotFillWithWhatRankZeroDoesNotTake) {
#ifdef SINEW_TEST_TSAN
    GTEST_SKIP() << "this sanitizer's own memory is larger; a GiB takes minutes";
#endif
    Launched::Setting setting;
    setting.env["ASAN_OPTIONS"] = "detect_leaks=0:quarantine_size_mb=8";
    Launched launched(job(2, 2, "backlog"), setting);
    auto const first = launched.rank(0), supervisor = launched.rank(1);
    ASSERT_TRUE(launched.says("there 1"));
    auto const before = most_memory_of(supervisor);
    ASSERT_TRUE(eventually(
        [&] { return status_of(first, "State:").find('T') != std::string::npos; }, Seconds(40)));
    std::this_thread::sleep_for(std::chrono::seconds(3));
    EXPECT_LT(most_memory_of(supervisor), before + 80) << "MiB";
    ::kill(first, SIGCONT);
    auto const ended = launched.wait(Seconds(100));
    EXPECT_THAT(ended.out, HasSubstr("right")) << ended.err;
}

TEST_F(CommunicatorPool, EndsEverywhereWithRankZero) {
    leaks.folders_may_stay();
    Launched launched(job(3, 3, "leave"));
    ASSERT_TRUE(eventually([&] { return workers_of(launched.rank(2)).size() == 2; }));
    ::kill(launched.rank(0), SIGKILL);
    auto const ended = launched.wait(Seconds(40));
    for (int rank = 1; rank < 3; ++rank) EXPECT_THAT(ended.out, HasSubstr(text("ended ", rank)));
    EXPECT_THAT(ended.err, HasSubstr("rank 0 is lost"));
}

}  // namespace
}  // namespace sinew::testing_support
