// SPDX-License-Identifier: Apache-2.0
// Jobs whose agents and ranks are simulated in virtual time, and fail in every way at any moment.
// Whatever happens, a job ends: in bounded time, with nothing left, and with the right exit code.
#include <gtest/gtest.h>

#include <csignal>
#include <limits>
#include <random>

#include "launchers/common/exit_codes.hpp"
#include "launchers/job/job_machine.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::nanoseconds;

class SimulatedJob final : private JobFacts {
public:
    explicit SimulatedJob(std::uint64_t seed)
        : random_(seed), pods_(pick(2) == 0), wanted_(1 + static_cast<int>(pick(4))),
          ranks_each_(1 + pick(3)), max_restarts_(static_cast<int>(pick(3))),
          machine_(settings(), *this), agents_(most_nodes) {}

    void run() {
        perform(machine_.begin());
        for (int step = 0; !over_; ++step) {
            ASSERT_LT(step, 10'000) << "it goes on for ever";
            ASSERT_LT(now_, 1h) << "virtual time";
            turn();
        }
        check_end();
    }

private:
    enum class Agent { absent, starting, present, gone };
    struct AgentState {
        Agent state = Agent::absent;
        bool hangs = false;    ///< answers nothing any more
        bool process = false;  ///< the process that started it runs
        std::uint32_t incarnation = 0;
        std::set<int> alive;  ///< its ranks
        bool told_to_stop = false, finishing = false;
    };

    // ---- the surroundings
    std::set<int> const& present_nodes() const override { return present_; }
    bool agent_processes_run() const override {
        for (auto const& agent : agents_)
            if (agent.process) return true;
        return false;
    }
    Output output() const override { return output_; }

    JobMachine::Settings settings() {
        JobMachine::Settings settings{.nodes = {},
                                      .start_timeout = 30s,
                                      .grace = 100ms,
                                      .max_restarts = max_restarts_,
                                      .kill_on_failure = pick(4) != 0,
                                      .by_itself = [this](int node) { return by_itself(node); }};
        settings.nodes = names(wanted_);
        return settings;
    }
    static std::vector<std::string> names(int count) {
        std::vector<std::string> all;
        for (int node = 0; node < count; ++node) all.push_back(text("n", node));
        return all;
    }
    bool by_itself(int node) const { return pods_ && node > 0; }
    bool takes_part(int node) const { return machine_.members().contains(node) && node < wanted_; }
    std::size_t pick(std::size_t below) {
        return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
    }
    bool rarely() { return pick(40) == 0; }

    // ---- a turn: something happens, or the next timer fires
    void turn() {
        auto const node = static_cast<int>(pick(most_nodes));
        auto& agent = agents_[static_cast<std::size_t>(node)];
        now_ += std::chrono::milliseconds(pick(200));
        if (fire_timer()) return;
        switch (pick(12)) {
            case 0:
            case 1:
                return come(node, agent);
            case 2:
            case 3:
            case 4:
                return end_a_rank(node, agent);
            case 5:
                return obey(node, agent);
            case 6:
                if (agent.process && agent.state == Agent::gone) {
                    agent.process = false;
                    perform(machine_.agent_process_ended({}));
                }
                return;
            case 7:
                if (output_ != Output::settled && pick(3) == 0) {
                    output_ = Output::settled;
                    perform(machine_.output_settled());
                } else if (rarely() && !machine_.finishing()) {
                    output_ = Output::waiting;
                }
                return;
            default:
                if (rarely()) go_wrong(node, agent);
        }
    }

    bool fire_timer() {
        for (auto const& [timer, due] : timers_)
            if (due <= now_) {
                auto const which = timer;
                timers_.erase(which);
                perform(machine_.timer_fired(which));
                return true;
            }
        return false;
    }

    void come(int node, AgentState& agent) {
        if (agent.state != Agent::starting || agent.hangs) return;
        if (rarely() && !by_itself(node)) {
            agent.state = Agent::absent;
            agent.process = false;
            failed_ = true;
            return perform(machine_.agent_process_ended("it cannot be started"));
        }
        agent.state = Agent::present;
        present_.insert(node);
        JobProgress past;
        if (by_itself(node) && !launched_ && pick(4) == 0)
            past = {
                .epochs = std::uint32_t(pick(9)), .restarts = 1, .failures = 0, .disruptions = 0};
        told_ = std::max(told_, past.epochs);
        perform(machine_.agent_joined(node, past));
    }

    void end_a_rank(int node, AgentState& agent) {
        if (agent.state != Agent::present || agent.hangs || agent.alive.empty()) return;
        Exited exited;
        exited.rank = *agent.alive.begin();
        agent.alive.erase(agent.alive.begin());
        exited.stopped = agent.told_to_stop;
        if (agent.told_to_stop) exited.signal = SIGTERM;
        else if (pick(6) == 0) exited.code = 1 + static_cast<int>(pick(3));
        else if (pick(6) == 0) exited.signal = SIGKILL;
        failed_ = failed_ || (!exited.stopped && (exited.code != 0 || exited.signal != 0));
        perform(machine_.rank_exited(node, exited));
    }

    // An agent that was told to finish does so when its ranks have ended.
    void obey(int node, AgentState& agent) {
        if (agent.hangs && pick(4) == 0) return lose(node, agent);  // its silence is noticed
        if (agent.hangs || !agent.finishing || !agent.alive.empty()) return;
        if (agent.state != Agent::present) return;
        perform(machine_.agent_finished(node));
        agent.state = Agent::gone;
        present_.erase(node);
        if (farewell_) perform(machine_.agent_left());
        else perform(machine_.agent_lost(node, "it has closed its link"));
    }

    void go_wrong(int node, AgentState& agent) {
        switch (pick(10)) {
            case 0:
                return lose(node, agent);
            case 7:
                return resize();
            case 8:
                if (!pods_ || max_restarts_ == 0 || interrupted_) return;
                failed_ = failed_ || !machine_.finishing();
                return perform(machine_.hand_over(SIGTERM));
            case 9:  // another agent takes the place of this one at once
                if (!by_itself(node) || machine_.finishing()) return;
                lose(node, agent);
                return come(node, agent);
            case 1:
                agent.hangs = true;
                return;
            case 2:
                if (agent.state == Agent::present && !agent.finishing) {
                    failed_ = failed_ || takes_part(node);
                    perform(machine_.agent_leaving(node));
                }
                return;
            case 3:
                failed_ = interrupted_ = true;
                return perform(machine_.interrupted(SIGINT));
            case 4:
                failed_ = true;
                return perform(machine_.timed_out("1 s"));
            case 5:
                failed_ = true;
                return perform(machine_.output_failed(ENOSPC, "a file"));
            default:
                if (!agent.alive.empty()) {
                    failed_ = true;
                    perform(machine_.rank_aborted(
                        {.rank = *agent.alive.begin(), .status = 3, .message = "N/A"}));
                }
        }
    }

    void lose(int node, AgentState& agent) {
        if (agent.state != Agent::present) return;
        agent.state = Agent::gone;
        agent.alive.clear();
        present_.erase(node);
        if (!machine_.finishing() && takes_part(node)) failed_ = true;
        perform(machine_.agent_lost(node, "the simulation says so"));
    }

    void resize() {
        if (!pods_) return;
        int const count = 1 + static_cast<int>(pick(most_nodes));
        if (max_restarts_ > 0 && !machine_.finishing() && !machine_.handing_over()) wanted_ = count;
        perform(machine_.resize(names(count)));
    }

    // ---- actions
    void perform(JobMachine::Actions const& actions) {
        for (auto const& action : actions)
            std::visit([this](auto const& one) { act(one); }, action);
    }
    void act(JobMachine::StartAgent const& action) {
        auto& agent = agents_.at(static_cast<std::size_t>(action.node));
        EXPECT_FALSE(present_.contains(action.node)) << "it is there";
        EXPECT_FALSE(machine_.finishing());
        EXPECT_TRUE(incarnations_.emplace(action.node, action.incarnation).second)
            << "an incarnation twice";
        agent = {.state = Agent::starting,
                 .hangs = rarely(),
                 .process = !by_itself(action.node),
                 .incarnation = action.incarnation,
                 .alive = {}};
    }
    void act(JobMachine::LaunchRanks const&) {
        EXPECT_FALSE(interrupted_) << "after an interrupt";
        EXPECT_FALSE(machine_.handing_over());
        EXPECT_GE(machine_.epoch(), told_) << "an epoch of another root";
        EXPECT_TRUE(epochs_.insert(machine_.epoch()).second) << "an epoch twice";
        launched_ = true;
        JobMap map;
        std::vector<int> agents;
        int rank = 0;
        for (int const node : machine_.members()) {
            EXPECT_TRUE(present_.contains(node)) << "an agent is absent";
            EXPECT_LT(node, wanted_);
            map.nodes.emplace_back().name = text("n", node);
            int const index = static_cast<int>(agents.size());
            agents.push_back(node);
            auto& agent = agents_[static_cast<std::size_t>(node)];
            EXPECT_FALSE(agent.finishing) << "it leaves";
            EXPECT_TRUE(agent.alive.empty() || agent.told_to_stop) << "ranks that nobody stopped";
            agent.alive.clear();
            agent.told_to_stop = false;
            for (std::size_t i = 0; i < ranks_each_; ++i, ++rank) {
                map.ranks.push_back({index, static_cast<int>(i), 0});
                agent.alive.insert(rank);
            }
        }
        if (rarely()) {
            for (auto& agent : agents_) agent.alive.clear();
            failed_ = true;
            return perform(machine_.cannot_launch("too few slots"));
        }
        failed_ = false;  // each epoch has a cause of its own
        perform(machine_.launched(map, agents));
        for (int const node : agents) {
            if (agents_[static_cast<std::size_t>(node)].hangs) continue;
            std::vector<StartedRank> report;
            for (int const each : agents_[static_cast<std::size_t>(node)].alive)
                report.push_back({.rank = each, .pid = 1000 + each, .error = 0, .step = {}});
            perform(machine_.ranks_started(node, report));
        }
    }
    void act(JobMachine::StopRanks const&) {
        for (auto& agent : agents_) agent.told_to_stop = true;
    }
    void act(JobMachine::FinishAgent const& action) {
        auto& agent = agents_.at(static_cast<std::size_t>(action.node));
        EXPECT_EQ(agent.state, Agent::present);
        agent.finishing = agent.told_to_stop = true;
    }
    void act(JobMachine::DismissAgent const& action) {
        auto& agent = agents_.at(static_cast<std::size_t>(action.node));
        if (agent.state == Agent::present) agent.finishing = agent.told_to_stop = true;
        else if (agent.state == Agent::starting) agent.state = Agent::absent;
    }
    void act(JobMachine::FinishAgents const&) {
        farewell_ = true;
        for (auto& agent : agents_)
            if (agent.state == Agent::present) agent.finishing = agent.told_to_stop = true;
    }
    void act(JobMachine::EndAgentProcesses const& action) {
        auto& agent = agents_.at(static_cast<std::size_t>(action.node));
        EXPECT_NE(agent.state, Agent::present);
        agent.process = false;
    }
    void act(JobMachine::SignalAgentProcesses const&) {
        for (auto& agent : agents_)
            if (!agent.hangs) agent.process = false;  // one that hangs may not even end by that
    }
    void act(JobMachine::GiveUpOnAbsent const&) {
        for (auto& agent : agents_)
            if (agent.state == Agent::starting) {
                agent.state = Agent::absent;
                agent.process = false;
            }
        perform(machine_.agent_process_ended({}));
    }
    void act(JobMachine::SetTimer const& action) {
        timers_[action.timer] = now_ + action.after;
        // A reader that takes nothing is given up on after a while.
        if (action.timer == JobMachine::Timer::finish && ++finish_timers_ > 20)
            output_ = Output::settled;
    }
    void act(JobMachine::CancelTimer const& action) { timers_.erase(action.timer); }
    void act(JobMachine::Report const& action) { EXPECT_FALSE(action.line.empty()); }
    void act(JobMachine::Mark const&) {}
    void act(JobMachine::Conclude const&) {
        EXPECT_TRUE(machine_.finishing());
        over_ = true;
    }
    void act(JobMachine::ExitAtOnce const&) {
        EXPECT_TRUE(interrupted_);
        over_ = true;
    }

    void check_end() {
        if (machine_.handing_over()) {
            EXPECT_EQ(machine_.exit_code(), exit_replace);
        }
        EXPECT_FALSE(failed_ && machine_.exit_code() == 0);
        EXPECT_EQ(machine_.causes().failed(), machine_.exit_code() != 0)
            << machine_.causes().table();
    }

    std::mt19937_64 random_;
    static constexpr std::size_t most_nodes = 6;
    bool const pods_;  ///< all agents but the first come by themselves
    int wanted_;       ///< nodes
    std::size_t const ranks_each_;
    int const max_restarts_;
    JobMachine machine_;
    std::vector<AgentState> agents_;
    std::set<int> present_;
    std::set<std::pair<int, std::uint32_t>> incarnations_;
    Output output_ = Output::settled;
    std::map<JobMachine::Timer, Time> timers_;
    Time now_{};
    int finish_timers_ = 0;
    std::uint32_t told_ = 0;          ///< the next epoch, by what agents knew from another root
    std::set<std::uint32_t> epochs_;  ///< launched
    bool failed_ = false, interrupted_ = false, over_ = false, farewell_ = false;
    bool launched_ = false;
};

TEST(JobSimulation, EndsWhateverHappens) {
    for (std::uint64_t seed = 0; seed < 5'000 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(text("seed ", seed));
        SimulatedJob(seed).run();
    }
}

}  // namespace
}  // namespace sinew::launch
