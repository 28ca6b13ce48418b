// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/job_machine.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "launchers/common/durations.hpp"
#include "launchers/common/exit_codes.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;

// What agents need beyond the grace period to report the ends of their ranks.
constexpr auto report_time = 10s;
// For agents to end, again after each sign of life.
constexpr auto finish_time = 10s;
constexpr auto terminate_time = 2s;
// For agents that are about to join when the job ends.
constexpr auto arrival_time = 2s;

}  // namespace

JobMachine::JobMachine(Settings settings, JobFacts const& facts)
    : settings_(std::move(settings)), facts_(facts) {}

// ---- agents -------------------------------------------------------------------------------------

JobMachine::Actions JobMachine::begin() {
    set_start_timer();
    for (int node = 0; node < static_cast<int>(settings_.nodes.size()); ++node) start_agent(node);
    return take();
}

void JobMachine::start_agent(int node) { emit(StartAgent{node, incarnations_[node]++}); }

bool JobMachine::all_present() const {
    auto const& present = facts_.present_nodes();
    for (int node = 0; node < static_cast<int>(settings_.nodes.size()); ++node)
        if (!present.contains(node)) return false;
    return true;
}

void JobMachine::set_start_timer() { emit(SetTimer{Timer::start, settings_.start_timeout}); }

void JobMachine::start_timed_out() {
    if (phase_ != Phase::starting) return;
    std::string absent;
    for (int node = 0; node < static_cast<int>(settings_.nodes.size()); ++node)
        if (!facts_.present_nodes().contains(node))
            absent += text(absent.empty() ? "" : ", ", name(node));
    causes_.launcher_failed(text("no agent connected from ", absent, " within ",
                                 in_words(settings_.start_timeout),
                                 ". See --start-timeout, sinew doctor"));
    failed();
}

JobMachine::Actions JobMachine::agent_joined(int node) {
    if (phase_ == Phase::finishing) emit(FinishAgent{node});
    else if (phase_ == Phase::starting && all_present()) emit(LaunchRanks{});
    return take();
}

JobMachine::Actions JobMachine::agent_lost(int node, std::string const& why) {
    emit(EndAgentProcesses{node});
    if (phase_ == Phase::finishing) {
        finished_.insert(node);
        finish_step();
        return take();
    }
    causes_.node_lost(name(node), why);
    for (int const rank : ranks_on(node)) alive_.erase(rank);
    failed();
    if (alive_.empty()) epoch_over();
    return take();
}

JobMachine::Actions JobMachine::agent_left() {
    if (phase_ == Phase::finishing) finish_step();
    return take();
}

JobMachine::Actions JobMachine::agent_process_ended(std::string const& failure) {
    if (phase_ == Phase::finishing) {
        finish_step();
    } else if (!failure.empty()) {
        causes_.launcher_failed(failure);
        failed();
    }
    return take();
}

// Its link ends next, which ends the job. After the job nobody needs the agent.
JobMachine::Actions JobMachine::agent_failing(int node, std::string const& why) {
    if (phase_ != Phase::finishing) causes_.node_lost(name(node), why);
    return take();
}

JobMachine::Actions JobMachine::agent_leaving(int node) {
    planned_ = true;
    causes_.node_lost(name(node), "its agent was asked to end (SIGTERM)");
    failed();
    return take();
}

JobMachine::Actions JobMachine::agent_finished(int node) {
    finished_.insert(node);
    if (phase_ == Phase::finishing) finish_step();
    return take();
}

// ---- ranks --------------------------------------------------------------------------------------

JobMachine::Actions JobMachine::launched(JobMap map, std::vector<int> agents) {
    map_ = std::move(map);
    agent_of_node_ = std::move(agents);
    causes_ = {};
    pids_.clear();
    reported_.clear();
    alive_.clear();
    for (int rank = 0; rank < map_.size(); ++rank) alive_.insert(rank);
    phase_ = Phase::running;
    emit(CancelTimer{Timer::start});
    return take();
}

JobMachine::Actions JobMachine::cannot_launch(std::string const& why) {
    causes_.launcher_failed(why);
    code_ = exit_usage;
    failed();
    return take();
}

JobMachine::Actions JobMachine::ranks_started(int node, std::vector<StartedRank> const& report) {
    std::set<int> missing;
    for (int const rank : ranks_on(node)) missing.insert(rank);
    for (auto const& started : report) {
        if (started.rank >= map_.size()) continue;  // nonsense
        if (started.error == 0 && started.rank >= 0) {
            missing.erase(started.rank);
            pids_[started.rank] = started.pid;
        } else if (started.rank >= 0) {
            causes_.rank_not_started(who(started.rank), started.error, started.step);
        } else {
            causes_.launcher_failed(text(name(node), ": ", started.step));
        }
    }
    for (int const rank : missing) alive_.erase(rank);
    reported_.insert(node);
    if (reported_.size() == agent_of_node_.size()) emit(Mark{"ranks started"});
    if (!missing.empty()) failed();
    if (alive_.empty()) epoch_over();
    return take();
}

JobMachine::Actions JobMachine::rank_exited(int node, Exited const& exited) {
    if (alive_.erase(exited.rank) == 0) return {};  // of an earlier epoch, or nonsense
    bool const had_failed = causes_.failed();
    bool const unfinished = exited.joined && !exited.left;
    causes_.rank_ended(who(exited.rank),
                       {.code = exited.code,
                        .signal = exited.signal,
                        .stopped = exited.stopped,
                        .unfinished = unfinished,
                        .in_world = exited.in_world,
                        .detail = exited.oom ? "the kernel ran out of memory" : exited.cause});
    if (!unfinished && exited.code == 0 && !exited.cause.empty())
        emit(Report{text("sinew: rank ", exited.rank, " on ", name(node), " ended normally, but ",
                         exited.cause)});
    if (!had_failed && causes_.failed() && settings_.kill_on_failure) failed();
    if (alive_.empty()) epoch_over();
    return take();
}

JobMachine::Actions JobMachine::rank_aborted(Aborted const& aborted) {
    if (aborted.rank < 0 || aborted.rank >= map_.size()) return {};
    // Open MPI says N/A where there is nothing to say.
    auto const message = aborted.message == "N/A" ? std::string() : aborted.message;
    causes_.rank_aborted(who(aborted.rank), aborted.status, message);
    failed();
    return take();
}

std::vector<int> JobMachine::ranks_on(int node) const {
    for (std::size_t i = 0; i < agent_of_node_.size(); ++i)
        if (agent_of_node_[i] == node) return map_.ranks_of(static_cast<int>(i));
    return {};
}

FirstCause::Who JobMachine::who(int rank) const {
    return {.rank = rank, .node = map_.nodes[map_.ranks[rank].node].name, .pid = pid_of(rank)};
}

// ---- ends ---------------------------------------------------------------------------------------

JobMachine::Actions JobMachine::interrupted(int signal) {
    ++interrupts_;
    causes_.interrupted(signal);
    if (interrupts_ >= 3) {
        emit(SignalAgentProcesses{SIGTERM});  // those that are stopped
        emit(ExitAtOnce{128 + signal});       // agents that run notice that, and clean up
    } else if (phase_ == Phase::starting || phase_ == Phase::finishing) {
        finish();
    } else {
        stop(interrupts_ == 2 ? Stop{.signal = 0, .grace_ms = 0} : gently(signal));
    }
    return take();
}

JobMachine::Actions JobMachine::told_to_stop(std::string const& by,
                                             std::optional<std::chrono::milliseconds> grace,
                                             bool now) {
    interrupts_ = std::max(interrupts_, 1);  // no restart
    causes_.stopped(by);
    if (phase_ == Phase::starting) finish();
    else if (now && phase_ != Phase::finishing) stop({.signal = 0, .grace_ms = 0});
    else if (phase_ == Phase::running)
        stop({.signal = SIGTERM, .grace_ms = grace.value_or(settings_.grace).count()});
    return take();
}

char const* JobMachine::state() const {
    switch (phase_) {
        case Phase::running:
            if (reported_.size() == agent_of_node_.size()) return "running";
            [[fallthrough]];
        case Phase::starting:
            return restarts_ > 0 ? "restarting" : "starting";
        case Phase::stopping:
        case Phase::finishing:
            break;
    }
    return "finishing";
}

pid_t JobMachine::pid_of(int rank) const {
    auto const pid = pids_.find(rank);
    return pid == pids_.end() ? 0 : pid->second;
}

char const* JobMachine::state_of(int rank) const {
    if (!alive_.contains(rank)) return "ended";
    return pids_.contains(rank) && phase_ != Phase::starting ? "running" : "starting";
}

JobMachine::Actions JobMachine::timed_out(std::string const& limit) {
    causes_.timed_out(limit);
    failed();
    return take();
}

JobMachine::Actions JobMachine::output_failed(int error, std::string const& where) {
    if (error == EPIPE) {
        reader_gone_ = true;
        code_ = 128 + SIGPIPE;  // as any program whose reader has gone (`| head`)
        causes_.interrupted(SIGPIPE);
    } else {
        causes_.launcher_failed(text("output of the ranks cannot be written to ", where, " (",
                                     std::strerror(error), "). The output after that is lost"));
    }
    failed();
    return take();
}

JobMachine::Actions JobMachine::internal_error(std::string const& what) {
    causes_.launcher_failed(what);
    failed();
    return take();
}

JobMachine::Actions JobMachine::output_settled() {
    if (phase_ == Phase::finishing) finish_step();
    return take();
}

// Something has gone wrong, and this epoch ends.
void JobMachine::failed() {
    if (phase_ == Phase::starting) finish();
    else if (phase_ == Phase::running) stop(gently(SIGTERM));
}

Stop JobMachine::gently(int signal) const {
    return {.signal = signal, .grace_ms = settings_.grace.count()};
}

void JobMachine::stop(Stop const& how) {
    phase_ = Phase::stopping;
    emit(StopRanks{how});
    emit(SetTimer{Timer::stop, std::chrono::milliseconds(how.grace_ms) + report_time});
    if (alive_.empty()) epoch_over();
}

void JobMachine::stop_timed_out() {
    for (int const rank : std::exchange(alive_, {}))
        causes_.node_lost(who(rank).node, text("the end of rank ", rank, " was not reported"));
    epoch_over();
}

void JobMachine::epoch_over() {
    if (phase_ == Phase::finishing || phase_ == Phase::starting) return;
    emit(CancelTimer{Timer::stop});
    emit(Mark{"ranks ended"});
    if (!causes_.failed() || !restart()) finish();
}

// The whole job is launched again on the same nodes. A planned leave does not count.
bool JobMachine::restart() {
    if (interrupts_ > 0 || settings_.max_restarts == 0) return false;
    if (!planned_ && failures_ >= settings_.max_restarts) return false;
    // A program that does not exist, or that the kernel refuses, will not exist the next time.
    if (auto const code = causes_.exit_code();
        causes_.not_started() && (code == exit_not_found || code == exit_not_executable))
        return false;
    if (!planned_) ++failures_;
    ++restarts_;
    ++epoch_;
    emit(Report{text("sinew: ", causes_.summary(), "\nsinew: restart ", restarts_, " (",
                     planned_ ? "planned, " : "", failures_, " of ", settings_.max_restarts,
                     " of the budget used)")});
    planned_ = false;
    phase_ = Phase::starting;
    for (int node = 0; node < static_cast<int>(settings_.nodes.size()); ++node)
        if (!facts_.present_nodes().contains(node)) start_agent(node);
    set_start_timer();
    if (all_present()) emit(LaunchRanks{});
    return true;
}

void JobMachine::finish() {
    if (phase_ == Phase::finishing) return;
    phase_ = Phase::finishing;
    emit(CancelTimer{Timer::start});
    emit(CancelTimer{Timer::stop});
    emit(FinishAgents{});
    // An agent that is about to join gets the same message then; one that hangs cannot get it.
    emit(SetTimer{Timer::arrival, arrival_time});
    finish_step();
}

// Concludes when all agents have finished, all output is written and all processes have ended.
void JobMachine::finish_step() {
    bool waiting = facts_.agent_processes_run() || facts_.output() != JobFacts::Output::settled;
    for (int const node : facts_.present_nodes()) waiting = waiting || !finished_.contains(node);
    terminated_ = false;
    if (waiting) emit(SetTimer{Timer::finish, finish_time});
    else {
        emit(CancelTimer{Timer::finish});
        emit(Conclude{});
    }
}

void JobMachine::finish_timed_out() {
    if (terminated_) return emit(Conclude{});
    if (facts_.output() == JobFacts::Output::waiting) return finish_step();
    emit(SignalAgentProcesses{SIGTERM});
    emit(SetTimer{Timer::finish, terminate_time});
    terminated_ = true;
}

JobMachine::Actions JobMachine::timer_fired(Timer timer) {
    switch (timer) {
        case Timer::start:
            start_timed_out();
            break;
        case Timer::stop:
            stop_timed_out();
            break;
        case Timer::arrival:
            emit(GiveUpOnAbsent{});
            break;
        case Timer::finish:
            finish_timed_out();
            break;
    }
    return take();
}

}  // namespace sinew::launch
