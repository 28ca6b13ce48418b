// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/job_machine.hpp"

#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <utility>

#include "launchers/common/exit_codes.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct PlayedFacts final : JobFacts {
    std::set<int> const& present_nodes() const override { return present; }
    bool agent_processes_run() const override { return processes; }
    Output output() const override { return out; }

    std::set<int> present;
    bool processes = false;
    Output out = Output::settled;
};

/// The actions as words, so that a failure shows the course of the job.
std::string word(JobMachine::Action const& action) {
    static constexpr char const* timers[] = {"start", "stop", "growth", "arrival", "finish"};
    auto const timer = [](JobMachine::Timer which) { return timers[static_cast<int>(which)]; };
    struct Words {
        decltype(timer) name;
        std::string operator()(JobMachine::StartAgent const& a) const {
            return text("start ", a.node, ".", a.incarnation);
        }
        std::string operator()(JobMachine::LaunchRanks const&) const { return "launch"; }
        std::string operator()(JobMachine::StopRanks const& a) const {
            return text("stop by ", a.how.signal);
        }
        std::string operator()(JobMachine::FinishAgent const& a) const {
            return text("finish ", a.node);
        }
        std::string operator()(JobMachine::DismissAgent const& a) const {
            return text("dismiss ", a.node);
        }
        std::string operator()(JobMachine::FinishAgents const&) const { return "finish all"; }
        std::string operator()(JobMachine::EndAgentProcesses const& a) const {
            return text("end ", a.node);
        }
        std::string operator()(JobMachine::SignalAgentProcesses const& a) const {
            return text("signal ", a.number);
        }
        std::string operator()(JobMachine::GiveUpOnAbsent const&) const { return "give up"; }
        std::string operator()(JobMachine::SetTimer const& a) const {
            return text("set ", name(a.timer));
        }
        std::string operator()(JobMachine::CancelTimer const& a) const {
            return text("cancel ", name(a.timer));
        }
        std::string operator()(JobMachine::Report const& a) const { return a.line; }
        std::string operator()(JobMachine::Mark const& a) const { return a.what; }
        std::string operator()(JobMachine::Conclude const&) const { return "conclude"; }
        std::string operator()(JobMachine::ExitAtOnce const& a) const {
            return text("exit ", a.code);
        }
    };
    return std::visit(Words{timer}, action);
}

JobMap map_of(int nodes, int ranks_each) {
    JobMap map;
    for (int node = 0; node < nodes; ++node) {
        map.nodes.emplace_back().name = text("n", node);
        for (int rank = 0; rank < ranks_each; ++rank) map.ranks.push_back({node, rank, 0});
    }
    return map;
}

class JobMachineTest : public testing::Test {
protected:
    using Words = std::vector<std::string>;
    static Words words(JobMachine::Actions const& actions) {
        Words all;
        for (auto const& action : actions) all.push_back(word(action));
        return all;
    }
    JobMachine make(int nodes, int restarts = 0, bool kill = true) {
        JobMachine::Settings settings{.nodes = {},
                                      .start_timeout = std::chrono::seconds(30),
                                      .grace = std::chrono::milliseconds(100),
                                      .max_restarts = restarts,
                                      .kill_on_failure = kill};
        for (int node = 0; node < nodes; ++node) settings.nodes.push_back(text("n", node));
        return {settings, facts};
    }
    Words joins(JobMachine& machine, int node) {
        facts.present.insert(node);
        return words(machine.agent_joined(node));
    }
    Words is_lost(JobMachine& machine, int node, std::string const& why) {
        facts.present.erase(node);
        return words(machine.agent_lost(node, why));
    }
    static std::vector<StartedRank> started(std::initializer_list<int> ranks) {
        std::vector<StartedRank> report;
        for (int const rank : ranks)
            report.push_back({.rank = rank, .pid = 100 + rank, .error = 0, .step = {}});
        return report;
    }
    /// Two nodes with a rank each, which run.
    JobMachine running(int restarts = 0, bool kill = true) {
        auto machine = make(2, restarts, kill);
        machine.begin();
        joins(machine, 0);
        joins(machine, 1);
        machine.launched(map_of(2, 1), {0, 1});
        machine.ranks_started(0, started({0}));
        machine.ranks_started(1, started({1}));
        return machine;
    }
    static Exited exit_of(int rank, int code, int signal = 0, bool stopped = false) {
        Exited exited;
        exited.rank = rank;
        exited.code = code;
        exited.signal = signal;
        exited.stopped = stopped;
        return exited;
    }
    PlayedFacts facts;
};

TEST_F(JobMachineTest, GoesFromTheStartToTheEnd) {
    auto machine = make(2);
    EXPECT_THAT(words(machine.begin()), ElementsAre("set start", "start 0.0", "start 1.0"));
    EXPECT_THAT(joins(machine, 1), IsEmpty());
    EXPECT_THAT(joins(machine, 0), ElementsAre("launch"));
    EXPECT_THAT(words(machine.launched(map_of(2, 1), {0, 1})), ElementsAre("cancel start"));
    EXPECT_THAT(words(machine.ranks_started(0, started({0}))), IsEmpty());
    EXPECT_THAT(words(machine.ranks_started(1, started({1}))), ElementsAre("ranks started"));
    EXPECT_THAT(words(machine.rank_exited(0, exit_of(0, 0))), IsEmpty());
    EXPECT_THAT(words(machine.rank_exited(1, exit_of(1, 0))),
                ElementsAre("cancel stop", "ranks ended", "cancel start", "cancel stop",
                            "finish all", "set arrival", "set finish"));
    EXPECT_THAT(words(machine.agent_finished(0)), ElementsAre("set finish"));
    EXPECT_THAT(words(machine.agent_finished(1)), ElementsAre("cancel finish", "conclude"));
    EXPECT_EQ(machine.exit_code(), 0);
}

TEST_F(JobMachineTest, WaitsForOutputAndProcesses) {
    auto machine = running();
    facts.processes = true;
    facts.out = JobFacts::Output::waiting;
    machine.rank_exited(0, exit_of(0, 0));
    machine.rank_exited(1, exit_of(1, 0));
    machine.agent_finished(0);
    EXPECT_THAT(words(machine.agent_finished(1)), ElementsAre("set finish"));
    facts.out = JobFacts::Output::settled;
    EXPECT_THAT(words(machine.output_settled()), ElementsAre("set finish"));
    facts.processes = false;
    EXPECT_THAT(words(machine.agent_process_ended({})), ElementsAre("cancel finish", "conclude"));
}

TEST_F(JobMachineTest, ASlowReaderMayBeSlowAndAgentsMayNot) {
    auto machine = running();
    facts.out = JobFacts::Output::waiting;
    machine.rank_exited(0, exit_of(0, 0));
    machine.rank_exited(1, exit_of(1, 0));
    EXPECT_THAT(words(machine.timer_fired(JobMachine::Timer::finish)), ElementsAre("set finish"));
    facts.out = JobFacts::Output::failed;
    EXPECT_THAT(words(machine.timer_fired(JobMachine::Timer::finish)),
                ElementsAre("signal 15", "set finish"));
    EXPECT_THAT(words(machine.timer_fired(JobMachine::Timer::finish)), ElementsAre("conclude"));
}

TEST_F(JobMachineTest, StopsAllRanksAfterAFailure) {
    auto machine = running();
    EXPECT_THAT(words(machine.rank_exited(1, exit_of(1, 3))),
                ElementsAre("stop by 15", "set stop"));
    machine.rank_exited(0, exit_of(0, 0, SIGTERM, true));
    EXPECT_TRUE(machine.finishing());
    EXPECT_EQ(machine.exit_code(), 3);
    EXPECT_THAT(machine.causes().summary(), HasSubstr("rank 1 on n1 (pid 101)"));
}

TEST_F(JobMachineTest, LeavesTheOthersAloneIfToldSo) {
    auto machine = running(0, false);
    EXPECT_THAT(words(machine.rank_exited(1, exit_of(1, 3))), IsEmpty());
    machine.rank_exited(0, exit_of(0, 0));
    EXPECT_EQ(machine.exit_code(), 3);
}

TEST_F(JobMachineTest, DoesNotWaitForReportsForEver) {
    auto machine = running();
    machine.rank_exited(1, exit_of(1, 3));
    EXPECT_THAT(words(machine.timer_fired(JobMachine::Timer::stop)),
                testing::Contains("finish all"));
    EXPECT_EQ(machine.exit_code(), 3);
    EXPECT_THAT(machine.causes().table(), HasSubstr("the end of rank 0 was not reported"));
}

TEST_F(JobMachineTest, NamesTheAbsentWhenTheStartTakesTooLong) {
    auto machine = make(3);
    machine.begin();
    joins(machine, 1);
    EXPECT_THAT(words(machine.timer_fired(JobMachine::Timer::start)),
                testing::Contains("finish all"));
    EXPECT_THAT(machine.causes().summary(),
                HasSubstr("no agent connected from n0, n2 within 30 s"));
    EXPECT_EQ(machine.exit_code(), 125);
    // One of them arrives now.
    EXPECT_THAT(joins(machine, 0), ElementsAre("finish 0"));
}

TEST_F(JobMachineTest, AnAgentThatCannotBeStartedEndsTheJob) {
    auto machine = make(2);
    machine.begin();
    EXPECT_THAT(words(machine.agent_process_ended("ssh failed")), testing::Contains("finish all"));
    EXPECT_EQ(machine.exit_code(), 125);
}

TEST_F(JobMachineTest, AMapThatCannotBeIsAUsageError) {
    auto machine = make(1);
    machine.begin();
    joins(machine, 0);
    machine.cannot_launch("too few slots");
    EXPECT_TRUE(machine.finishing());
    EXPECT_EQ(machine.exit_code(), exit_usage);
}

TEST_F(JobMachineTest, RestartsWithinItsBudget) {
    auto machine = running(1);
    machine.rank_exited(1, exit_of(1, 0, SIGKILL));
    auto const again = words(machine.rank_exited(0, exit_of(0, 0, SIGTERM, true)));
    EXPECT_THAT(again, ElementsAre("cancel stop", "ranks ended", HasSubstr("restart 1 (1 of 1"),
                                   "set start", "launch"));
    EXPECT_EQ(machine.epoch(), 1U);
    machine.launched(map_of(2, 1), {0, 1});
    EXPECT_EQ(machine.exit_code(), 0) << "what happened before is forgotten";
    machine.rank_exited(1, exit_of(1, 0, SIGKILL));
    machine.rank_exited(0, exit_of(0, 0, SIGTERM, true));
    EXPECT_TRUE(machine.finishing());
    EXPECT_EQ(machine.exit_code(), 128 + SIGKILL);
}

TEST_F(JobMachineTest, ALostAgentIsStartedAgainByItsNextIncarnation) {
    auto machine = running(1);
    EXPECT_THAT(is_lost(machine, 1, "it is gone"), ElementsAre("end 1", "stop by 15", "set stop"));
    auto const again = words(machine.rank_exited(0, exit_of(0, 0, SIGTERM, true)));
    EXPECT_THAT(again, testing::Contains("start 1.1"));
    EXPECT_THAT(again, testing::Not(testing::Contains("launch")));
    EXPECT_THAT(joins(machine, 1), ElementsAre("launch"));
}

TEST_F(JobMachineTest, APlannedLeaveDoesNotCount) {
    auto machine = running(1);
    for (int restart = 1; restart < 5; ++restart) {
        machine.agent_leaving(1);
        machine.rank_exited(0, exit_of(0, 0, SIGTERM, true));
        EXPECT_THAT(words(machine.rank_exited(1, exit_of(1, 0, SIGTERM, true))),
                    testing::AllOf(testing::Contains(HasSubstr("(planned, 0 of 1")),
                                   testing::Contains("dismiss 1"),
                                   testing::Not(testing::Contains("launch"))))
            << "the agent that leaves gets no ranks";
        EXPECT_EQ(machine.restarts(), restart);
        EXPECT_THAT(is_lost(machine, 1, "closed"),
                    ElementsAre("end 1", "set start", text("start 1.", restart)));
        EXPECT_THAT(joins(machine, 1), ElementsAre("launch"));
        machine.launched(map_of(2, 1), {0, 1});
    }
}

/// Node 0's agent is started; the others come by themselves.
class PodsTest : public JobMachineTest {
protected:
    JobMachine gathering(int nodes, int restarts) {
        JobMachine::Settings settings{.nodes = {},
                                      .start_timeout = std::chrono::seconds(30),
                                      .grace = std::chrono::milliseconds(100),
                                      .max_restarts = restarts,
                                      .kill_on_failure = true,
                                      .by_itself = [](int node) { return node > 0; }};
        for (int node = 0; node < nodes; ++node) settings.nodes.push_back(text("n", node));
        JobMachine machine{settings, facts};
        machine.begin();
        return machine;
    }
    JobMachine running_pods(int nodes, int restarts) {
        auto machine = gathering(nodes, restarts);
        for (int node = 0; node < nodes; ++node) joins(machine, node);
        launch(machine, nodes);
        return machine;
    }
    void launch(JobMachine& machine, int nodes) {
        std::vector<int> agents;
        for (int node = 0; node < nodes; ++node) agents.push_back(node);
        machine.launched(map_of(nodes, 1), agents);
    }
    Words end_ranks(JobMachine& machine, std::initializer_list<int> ranks) {
        Words all;
        for (int const rank : ranks) {
            auto const some = words(machine.rank_exited(rank, exit_of(rank, 0, SIGTERM, true)));
            all.insert(all.end(), some.begin(), some.end());
        }
        return all;
    }
    static std::vector<std::string> names(int count) {
        std::vector<std::string> all;
        for (int node = 0; node < count; ++node) all.push_back(text("n", node));
        return all;
    }
};

TEST_F(PodsTest, TheLossOfAPodDoesNotUseUpTheBudgetButMayNotGoOnForEver) {
    auto machine = running_pods(2, 1);
    for (int loss = 1; loss <= RestartBudget::most_disruptions + 2; ++loss) {
        is_lost(machine, 1, "it is gone");
        auto const again = end_ranks(machine, {0});
        if (loss == RestartBudget::most_disruptions + 2) break;
        auto const counted =
            loss <= RestartBudget::most_disruptions
                ? text("disruption ", loss, " of at most ", RestartBudget::most_disruptions,
                       ", 0 of 1 of the budget used")
                : std::string("(1 of 1 of the budget used)");
        EXPECT_THAT(again, testing::Contains(HasSubstr(counted)));
        joins(machine, 1);
        launch(machine, 2);
    }
    EXPECT_TRUE(machine.finishing());
    EXPECT_EQ(machine.exit_code(), 125);
}

TEST_F(PodsTest, PeersThatFailBeforeTheLossIsNoticedAreNoFailureOfTheProgram) {
    auto machine = running_pods(3, 1);
    machine.rank_exited(1, exit_of(1, 9));
    is_lost(machine, 2, "it is gone");
    EXPECT_THAT(end_ranks(machine, {0}), testing::Contains(HasSubstr("disruption 1 of")));
}

TEST_F(PodsTest, ALossWhileTheJobGathersIsWaitedOut) {
    auto machine = gathering(2, 1);
    joins(machine, 1);
    EXPECT_THAT(is_lost(machine, 1, "evicted"), ElementsAre("end 1", "set start", "start 1.1"));
    joins(machine, 0);
    EXPECT_THAT(joins(machine, 1), ElementsAre("launch"));
    auto strict = gathering(2, 0);
    is_lost(strict, 1, "evicted");
    EXPECT_TRUE(strict.finishing()) << "nothing may be restarted";
    EXPECT_EQ(strict.exit_code(), 125);
}

TEST_F(PodsTest, ANewRootCountsOnFromWhatTheAgentsKnow) {
    auto machine = gathering(3, 3);
    facts.present = {0, 1, 2};
    machine.agent_joined(0);
    machine.agent_joined(1, {.epochs = 5, .restarts = 4, .failures = 2, .disruptions = 1});
    EXPECT_EQ(machine.epoch(), 5U);
    EXPECT_EQ(machine.restarts(), 5);
    EXPECT_EQ(machine.progress().failures, 2);
    EXPECT_EQ(machine.progress().disruptions, 2);
    launch(machine, 3);
    machine.agent_joined(2, {.epochs = 9, .restarts = 9, .failures = 9, .disruptions = 9});
    EXPECT_EQ(machine.epoch(), 5U) << "it has launched by then";
}

TEST_F(PodsTest, ARootThatIsToldToLeaveKeepsTheAgentsThatCameByThemselves) {
    auto machine = running_pods(2, 1);
    EXPECT_THAT(words(machine.hand_over(SIGTERM)),
                ElementsAre(HasSubstr("another"), "stop by 15", "set stop"));
    auto const end = end_ranks(machine, {0, 1});
    EXPECT_THAT(end, testing::Contains("finish 0"));
    EXPECT_THAT(end, testing::Not(testing::Contains("finish 1")));
    EXPECT_THAT(end, testing::Not(testing::Contains("finish all")));
    facts.processes = false;
    EXPECT_THAT(is_lost(machine, 0, "closed"), testing::Contains("conclude"))
        << "node 1 is not waited for";
    EXPECT_THAT(joins(machine, 1), IsEmpty());
    EXPECT_EQ(machine.exit_code(), exit_replace);
    EXPECT_TRUE(machine.handing_over());
}

TEST_F(PodsTest, MoreNodesJoinByARestartAtOnceWhenAllAreThere) {
    auto machine = running_pods(2, 1);
    EXPECT_THAT(
        words(machine.resize(names(4))),
        ElementsAre(HasSubstr("4 nodes are wanted instead of 2"), "start 2.0", "start 3.0"));
    EXPECT_THAT(joins(machine, 3), ElementsAre("set growth"));
    EXPECT_THAT(joins(machine, 2), ElementsAre("stop by 15", "set stop"));
    auto const again = end_ranks(machine, {0, 1});
    EXPECT_THAT(again, testing::Contains("launch"));
    EXPECT_THAT(again, testing::Contains(HasSubstr("(planned, 0 of 1")));
    EXPECT_EQ(machine.members().size(), 4U);
}

TEST_F(PodsTest, MoreNodesOfWhichSomeNeverComeJoinAfterAWhile) {
    auto machine = running_pods(2, 1);
    machine.resize(names(4));
    joins(machine, 3);
    EXPECT_THAT(words(machine.timer_fired(JobMachine::Timer::growth)),
                ElementsAre("stop by 15", "set stop"));
    EXPECT_THAT(end_ranks(machine, {0, 1}), testing::Contains("launch"));
    EXPECT_EQ(machine.members(), (std::set<int>{0, 1, 3}));
}

TEST_F(PodsTest, FewerNodesGoOnWithoutTheHighest) {
    auto machine = running_pods(3, 1);
    EXPECT_THAT(
        words(machine.resize(names(2))),
        ElementsAre(HasSubstr("2 nodes are wanted instead of 3"), "stop by 15", "set stop"));
    auto const again = end_ranks(machine, {0, 1, 2});
    EXPECT_THAT(again, testing::Contains("dismiss 2"));
    EXPECT_THAT(again, testing::Contains("launch"));
    EXPECT_EQ(machine.members(), (std::set<int>{0, 1}));
    launch(machine, 2);
    EXPECT_THAT(is_lost(machine, 2, "closed"), ElementsAre("end 2"));
    EXPECT_TRUE(machine.running());
}

TEST_F(PodsTest, RanksThatHaveAllEndedAreNotStartedAgainForOtherNodes) {
    auto machine = running_pods(2, 1);
    machine.rank_exited(0, exit_of(0, 0));
    machine.resize(names(1));
    machine.rank_exited(1, exit_of(1, 0));
    EXPECT_TRUE(machine.finishing());
    EXPECT_EQ(machine.exit_code(), 0);
}

TEST_F(PodsTest, TheNumberOfNodesNeedsRestarts) {
    auto machine = running_pods(2, 0);
    EXPECT_THAT(words(machine.resize(names(3))), ElementsAre(HasSubstr("--max-restarts")));
    EXPECT_TRUE(machine.running());
    EXPECT_EQ(machine.members().size(), 2U);
}

TEST_F(JobMachineTest, AProgramThatDoesNotExistIsNotTriedAgain) {
    auto machine = running(3);
    machine.launched(map_of(2, 1), {0, 1});
    machine.ranks_started(0, {{.rank = 0, .pid = 0, .error = ENOENT, .step = "exec ./none"}});
    machine.ranks_started(1, {{.rank = 1, .pid = 0, .error = ENOENT, .step = "exec ./none"}});
    EXPECT_TRUE(machine.finishing());
    EXPECT_EQ(machine.restarts(), 0);
    EXPECT_EQ(machine.exit_code(), exit_not_found);
}

TEST_F(JobMachineTest, InterruptsBecomeHarderAndEndAllRestarts) {
    auto machine = running(3);
    EXPECT_THAT(words(machine.interrupted(SIGINT)), ElementsAre("stop by 2", "set stop"));
    EXPECT_THAT(words(machine.interrupted(SIGINT)), ElementsAre("stop by 0", "set stop"));
    EXPECT_THAT(words(machine.interrupted(SIGINT)), ElementsAre("signal 15", "exit 130"));
    machine.rank_exited(0, exit_of(0, 0, SIGKILL, true));
    machine.rank_exited(1, exit_of(1, 0, SIGKILL, true));
    EXPECT_TRUE(machine.finishing());
    EXPECT_EQ(machine.exit_code(), 130);
}

TEST_F(JobMachineTest, AReaderThatLeavesEndsTheJobAsAnyProgram) {
    auto machine = running();
    EXPECT_THAT(words(machine.output_failed(EPIPE, "standard output")),
                ElementsAre("stop by 15", "set stop"));
    EXPECT_TRUE(machine.reader_gone());
    EXPECT_EQ(machine.exit_code(), 128 + SIGPIPE);
    auto full = running();
    full.output_failed(ENOSPC, "out/rank.0");
    EXPECT_FALSE(full.reader_gone());
    EXPECT_EQ(full.exit_code(), 125);
}

TEST_F(JobMachineTest, NonsenseFromAgentsIsIgnored) {
    auto machine = running();
    EXPECT_THAT(words(machine.rank_exited(0, exit_of(7, 1))), IsEmpty());
    EXPECT_THAT(words(machine.rank_exited(0, exit_of(-1, 1))), IsEmpty());
    EXPECT_THAT(words(machine.rank_aborted({.rank = 9, .status = 1, .message = {}})), IsEmpty());
    EXPECT_THAT(words(machine.agent_finished(0)), IsEmpty());
    EXPECT_FALSE(machine.finishing());
    machine.rank_exited(0, exit_of(0, 0));
    EXPECT_THAT(words(machine.rank_exited(0, exit_of(0, 1))), IsEmpty()) << "it had ended";
}

}  // namespace
}  // namespace sinew::launch
