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
// For the other nodes that are new, when one has joined.
constexpr auto growth_time = 30s;
// For agents that are about to join when the job ends.
constexpr auto arrival_time = 2s;

}  // namespace

JobMachine::JobMachine(Settings settings, JobFacts const& facts)
    : settings_(std::move(settings)), facts_(facts), names_(settings_.nodes),
      wanted_(static_cast<int>(names_.size())), budget_(settings_.max_restarts) {
    for (int node = 0; node < wanted_; ++node) members_.insert(node);
}

// ---- agents -------------------------------------------------------------------------------------

JobMachine::Actions JobMachine::begin() {
    set_start_timer();
    for (int const node : members_) start_agent(node);
    return take();
}

void JobMachine::dismiss(int node) {
    if (facts_.present_nodes().contains(node)) leaving_.insert(node);
    emit(DismissAgent{node});
}

void JobMachine::start_agent(int node) { emit(StartAgent{node, incarnations_[node]++}); }

bool JobMachine::all_wanted_present() const {
    for (int node = 0; node < wanted_; ++node)
        if (!is_here(node)) return false;
    return true;
}

bool JobMachine::newcomers_present() const {
    auto const& present = facts_.present_nodes();
    return std::any_of(present.begin(), present.end(), [this](int node) {
        return is_wanted(node) && is_here(node) && !members_.contains(node);
    });
}

// The nodes that are wanted and there become members, when no member is absent.
void JobMachine::launch_if_ready() {
    if (phase_ != Phase::starting) return;
    for (int const node : members_)
        if (!is_here(node)) return;
    for (int node = 0; node < wanted_; ++node)
        if (is_here(node)) members_.insert(node);
    emit(LaunchRanks{});
}

void JobMachine::set_start_timer() { emit(SetTimer{Timer::start, settings_.start_timeout}); }

void JobMachine::start_timed_out() {
    if (phase_ != Phase::starting) return;
    std::string absent;
    for (int const node : members_)
        if (!facts_.present_nodes().contains(node))
            absent += text(absent.empty() ? "" : ", ", name(node));
    causes_.launcher_failed(text("no agent connected from ", absent, " within ",
                                 in_words(settings_.start_timeout),
                                 ". See --start-timeout, sinew doctor"));
    failed();
}

// The epochs of two roots must not be taken for each other, and the budget is the job's.
void JobMachine::learn(JobProgress const& past) {
    if (launched_ || past.epochs <= epoch_) return;
    epoch_ = past.epochs;
    budget_.continue_from(past);
}

JobMachine::Actions JobMachine::agent_joined(int node, JobProgress const& past) {
    leaving_.erase(node);
    if (phase_ == Phase::finishing) {
        if (!handing_over_) emit(FinishAgent{node});
        return take();
    }
    if (!is_wanted(node)) {
        dismiss(node);
        return take();
    }
    learn(past);
    if (phase_ == Phase::starting) launch_if_ready();
    else if (members_.contains(node)) return take();
    else if (phase_ == Phase::running && all_wanted_present()) regroup();
    else emit(SetTimer{Timer::growth, growth_time});
    return take();
}

JobMachine::Actions JobMachine::agent_lost(int node, std::string const& why) {
    emit(EndAgentProcesses{node});
    bool const was_leaving = leaving_.erase(node) != 0;
    if (phase_ == Phase::finishing) {
        finished_.insert(node);
        finish_step();
        return take();
    }
    if (!is_wanted(node)) return lose_ranks(node), take();
    if (!members_.contains(node) || lost_before_launch(node, was_leaving)) {
        start_agent(node);
        return take();
    }
    disrupted_ = disrupted_ || settings_.by_itself(node);
    causes_.node_lost(name(node), why);
    failed();
    lose_ranks(node);
    return take();
}

void JobMachine::lose_ranks(int node) {
    for (int const rank : ranks_on(node)) cut_short_ = alive_.erase(rank) != 0 || cut_short_;
    if (alive_.empty()) epoch_over();
}

// While the job gathers, the next agent of the node is waited for.
bool JobMachine::lost_before_launch(int node, bool was_leaving) {
    if (phase_ != Phase::starting || settings_.max_restarts == 0) return false;
    if (!was_leaving && (!settings_.by_itself(node) || !budget_.take_early_loss())) return false;
    set_start_timer();
    return true;
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
    if (phase_ != Phase::finishing && members_.contains(node)) causes_.node_lost(name(node), why);
    return take();
}

JobMachine::Actions JobMachine::agent_leaving(int node) {
    if (phase_ == Phase::finishing || !facts_.present_nodes().contains(node)) return take();
    bool const gathering = phase_ == Phase::starting && settings_.max_restarts > 0;
    if (gathering || !members_.contains(node)) {
        dismiss(node);
        return take();
    }
    leaving_.insert(node);
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
    launched_ = true;
    planned_ = disrupted_ = regrouping_ = cut_short_ = false;
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
    cut_short_ = cut_short_ || exited.stopped;
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

// ---- the number of nodes ------------------------------------------------------------------------

JobMachine::Actions JobMachine::resize(std::vector<std::string> names) {
    int const count = static_cast<int>(names.size());
    if (count == wanted_ || count == 0 || phase_ == Phase::finishing || handing_over_) return {};
    auto const change = text("sinew: ", count, " nodes are wanted instead of ", wanted_);
    if (settings_.max_restarts == 0) {
        emit(Report{text(change,
                         ", but a job changes its nodes by a restart. Start it with "
                         "--max-restarts 1 or more")});
        return take();
    }
    int const before = std::exchange(wanted_, count);
    if (count > static_cast<int>(names_.size())) names_ = std::move(names);
    emit(Report{text(change, count < before ? "" : ". The job restarts when they have joined")});
    for (int node = before; node < count; ++node)
        if (!facts_.present_nodes().contains(node)) start_agent(node);
    if (phase_ == Phase::running && !members_.empty() && !is_wanted(*members_.rbegin())) regroup();
    else if (phase_ != Phase::stopping) drop_unwanted();
    launch_if_ready();
    return take();
}

void JobMachine::drop_unwanted() {
    std::erase_if(members_, [this](int node) { return !is_wanted(node); });
    for (int node = wanted_; node < static_cast<int>(names_.size()); ++node) dismiss(node);
}

void JobMachine::regroup() {
    regrouping_ = true;
    stop(gently(SIGTERM));
}

// ---- ends ---------------------------------------------------------------------------------------

JobMachine::Actions JobMachine::interrupted(int signal) {
    ++interrupts_;
    causes_.interrupted(signal, settings_.root_node);
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

JobMachine::Actions JobMachine::hand_over(int signal) {
    if (phase_ == Phase::finishing || handing_over_) return take();
    handing_over_ = true;
    code_ = exit_replace;
    causes_.interrupted(signal, settings_.root_node);
    emit(Report{"sinew: this root ends, and the agents wait for another to go on with the job"});
    if (phase_ == Phase::starting) finish();
    else if (phase_ == Phase::running) stop(gently(SIGTERM));
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
    // Ranks that had all ended by themselves are not started again because nodes come or go.
    bool const again = causes_.failed() || (regrouping_ && cut_short_);
    if (handing_over_ || !again || !restart()) finish();
}

// The whole job is launched again.
bool JobMachine::restart() {
    if (interrupts_ > 0 || settings_.max_restarts == 0) return false;
    // A program that does not exist, or that the kernel refuses, will not exist the next time.
    if (auto const code = causes_.exit_code();
        causes_.not_started() && (code == exit_not_found || code == exit_not_executable))
        return false;
    // What does not count: a planned leave, other nodes, and the loss of a node that comes by
    // itself, whose ranks' peers may have failed before the loss was noticed.
    using Why = RestartBudget::Why;
    auto const taken = budget_.take(planned_ || regrouping_ ? Why::planned
                                    : disrupted_            ? Why::disruption
                                                            : Why::failure);
    if (!taken) return false;
    ++epoch_;
    emit(Report{text(
        "sinew: ",
        causes_.failed() ? causes_.summary() : text("the job goes on with ", wanted_, " nodes"),
        "\nsinew: ", *taken)});
    phase_ = Phase::starting;
    drop_unwanted();
    for (int const node : members_) {
        if (!facts_.present_nodes().contains(node)) start_agent(node);
        else if (leaving_.contains(node)) dismiss(node);  // the next one comes after it
    }
    set_start_timer();
    launch_if_ready();
    return true;
}

void JobMachine::finish() {
    if (phase_ == Phase::finishing) return;
    phase_ = Phase::finishing;
    emit(CancelTimer{Timer::start});
    emit(CancelTimer{Timer::stop});
    if (!handing_over_) emit(FinishAgents{});
    else
        for (int const node : facts_.present_nodes())
            if (!settings_.by_itself(node)) emit(FinishAgent{node});
    // An agent that is about to join gets the same message then; one that hangs cannot get it.
    emit(SetTimer{Timer::arrival, arrival_time});
    finish_step();
}

// Concludes when all agents have finished, all output is written and all processes have ended.
void JobMachine::finish_step() {
    bool waiting = facts_.agent_processes_run() || facts_.output() != JobFacts::Output::settled;
    for (int const node : facts_.present_nodes())
        if (!handing_over_ || !settings_.by_itself(node))
            waiting = waiting || !finished_.contains(node);
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
        case Timer::growth:
            if (phase_ == Phase::running && newcomers_present()) regroup();
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
