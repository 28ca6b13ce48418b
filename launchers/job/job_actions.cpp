// SPDX-License-Identifier: Apache-2.0
// What JobRun does of what its machine decides.
#include <unistd.h>

#include <sinew/error.hpp>
#include <string>
#include <utility>
#include <variant>

#include "launchers/job/job_run.hpp"
#include "launchers/job/root_address.hpp"
#include "src/base/bytes.hpp"

namespace sinew::launch {

// An action may bring the next event with it, whose actions follow.
void JobRun::perform(JobMachine::Actions actions) {
    for (auto& action : actions) actions_.push_back(std::move(action));
    if (std::exchange(performing_, true)) return;
    while (!actions_.empty()) {
        auto const next = std::move(actions_.front());
        actions_.pop_front();
        std::visit([this](auto const& action) { act(action); }, next);
    }
    performing_ = false;
}

void JobRun::act(JobMachine::StartAgent const& action) {
    if (backend_->comes_by_itself(action.node)) return root_->expect_by_itself(action.node);
    auto const& node = nodes_.at(action.node);
    root_->expect(action.node, action.incarnation);
    AgentConfig config{.job = job_,
                       .secret = secret_.hex(),
                       .node = action.node,
                       .name = node.name,
                       .incarnation = action.incarnation,
                       .roots = root_addresses(root_place(), root_->address()),
                       .listen = static_cast<int>(nodes_.size()) > options_.tree_fanout ||
                                 (arranged_.wanted && options_.max_restarts > 0),
                       .folders = {},
                       // We listen before it starts.
                       .patience_ms = 10'000,
                       .by_itself = false,
                       .address = arranged_.address,
                       .place = node.place};
    if (options_.root_address.empty())
        for (auto const& host : backend_->root_hosts())
            config.roots.insert(config.roots.begin(),
                                wire::Address::tcp(host, root_->address().port).text());
    if (folder_) config.folders = {folder_->path(), name_.folder().path()};
    agents_->start({.node = action.node, .host = node.host, .configuration = config_line(config)});
}

void JobRun::act(JobMachine::LaunchRanks const&) {
    timing_.mark("agents there");
    try {
        launch();
    } catch (UsageError const& problem) {
        perform(machine_.cannot_launch(problem.what()));
    }
}

void JobRun::act(JobMachine::StopRanks const& action) {
    root_->send(everyone, Kind::stop, {bytes_of(encode(action.how))});
}

void JobRun::act(JobMachine::FinishAgent const& action) {
    root_->send(action.node, Kind::finish, {});
}

void JobRun::act(JobMachine::DismissAgent const& action) { root_->dismiss(action.node); }

void JobRun::act(JobMachine::FinishAgents const&) {
    root_->farewell();
    root_->send(everyone, Kind::finish, {});
}

void JobRun::act(JobMachine::EndAgentProcesses const& action) { agents_->end(action.node); }
void JobRun::act(JobMachine::SignalAgentProcesses const& action) { agents_->signal(action.number); }
void JobRun::act(JobMachine::GiveUpOnAbsent const&) { agents_->give_up_on_absent(); }

void JobRun::act(JobMachine::SetTimer const& action) {
    timers_[action.timer] = loop_.after(
        action.after, [this, timer = action.timer] { perform(machine_.timer_fired(timer)); });
}

void JobRun::act(JobMachine::CancelTimer const& action) { timers_.erase(action.timer); }
void JobRun::act(JobMachine::Report const& action) {
    if (dashboard_) dashboard_->notice(action.line);
    notice(action.line);
}
void JobRun::act(JobMachine::Mark const& action) { timing_.mark(action.what); }
void JobRun::act(JobMachine::ExitAtOnce const& action) {
    write_summary(action.code);
    ::_exit(action.code);
}

// The closing lines come last, and the loop runs until they are written: that they cannot be is a
// failure like any other of the output.
void JobRun::act(JobMachine::Conclude const&) {
    if (std::exchange(concluded_, true)) return stop_when_written();
    timing_.mark("cleaned up");
    write_summary(machine_.exit_code());
    if (output_.unread()) return loop_.stop();  // leave_output_behind writes them
    bool const json = options_.output == OutputFormat::json;
    output_.write_result(json ? machine_.causes().json() + "\n" : "", [this] {
        if (auto lines = closing_lines(); !lines.empty()) output_.report(std::move(lines));
        stop_when_written();
    });
}

}  // namespace sinew::launch
