// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/job_dashboard.hpp"

#include <algorithm>
#include <cstring>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using dashboard::Level;
using dashboard::RankState;
using std::chrono::system_clock;

constexpr auto period = std::chrono::milliseconds(200);

RankState state_of(Exited const& exited) {
    if (exited.stopped) return RankState::stopped;
    if (exited.code == 0 && exited.signal == 0) return RankState::finished;
    return RankState::failed;
}

std::string how(Exited const& exited) {
    auto words = exited.signal != 0 ? text("killed by signal ", exited.signal, " (",
                                           ::strsignal(exited.signal), ")")
                                    : text("exited with code ", exited.code);
    if (exited.oom) words += ", the kernel ran out of memory";
    else if (!exited.cause.empty()) words += ", " + exited.cause;
    return words;
}

}  // namespace

JobDashboard::JobDashboard(wire::Loop& loop, dashboard::Settings const& settings,
                           Callbacks callbacks)
    : dashboard_(settings), pools_(dashboard_.state()), loop_(loop),
      callbacks_(std::move(callbacks)) {
    publish();
    publishing_ = loop.every(period, [this] { publish(); });
}

void JobDashboard::event(Level level, std::string text) {
    dashboard_.state().add_event(level, std::move(text), system_clock::now());
}

void JobDashboard::publish() {
    auto job = callbacks_.job();
    if (auto shown = text(job.state, job.restarts, job.cause); shown != shown_state_) {
        shown_state_ = std::move(shown);
        dashboard_.state().set(std::move(job));
    }
    if (!std::exchange(changed_, false)) return;
    dashboard_.state().set(nodes_, ranks_);
}

void JobDashboard::launched(JobMap const& map, std::vector<int> const& agents,
                            std::vector<std::string> const& hosts) {
    nodes_.clear();
    ranks_.clear();
    agents_ = agents;
    for (std::size_t i = 0; i < map.nodes.size(); ++i)
        nodes_.push_back({.name = map.nodes[i].name, .host = hosts[i]});
    for (int rank = 0; rank < map.size(); ++rank)
        ranks_.push_back({.rank = rank, .node = map.ranks[rank].node, .detail = {}});
    changed_ = true;
    event(Level::info,
          text(epochs_++ == 0 ? "The job starts: " : "The job starts again: ", map.size(),
               " ranks on ", map.nodes.size(), map.nodes.size() == 1 ? " node" : " nodes"));
}

void JobDashboard::started(std::vector<StartedRank> const& report) {
    for (auto const& each : report) {
        if (each.rank < 0 || each.rank >= static_cast<int>(ranks_.size())) continue;
        auto& rank = ranks_[each.rank];
        if (rank.state != RankState::starting) continue;
        rank.pid = each.pid;
        rank.state = each.error == 0 ? RankState::running : RankState::failed;
        if (each.error == 0) continue;
        rank.detail = text(each.step, ": ", std::strerror(each.error));
        event(Level::error, text("Rank ", each.rank, " cannot be started (", rank.detail, ")"));
    }
    changed_ = true;
}

void JobDashboard::exited(Exited const& exited) {
    if (exited.rank < 0 || exited.rank >= static_cast<int>(ranks_.size())) return;
    auto& rank = ranks_[exited.rank];
    rank.state = state_of(exited);
    rank.detail = how(exited);
    changed_ = true;
    auto const& node = nodes_[rank.node].name;
    pools_.gone(node, rank.pid);
    if (rank.state == RankState::failed)
        event(Level::error, text("Rank ", rank.rank, " on ", node, " (pid ", rank.pid,
                                 ") was lost: ", rank.detail));
}

void JobDashboard::agent_joined(std::string const& node, std::string const& host) {
    event(Level::info, text("Node ", node, " has joined", host.empty() ? "" : " from ", host));
}

void JobDashboard::agent_lost(int agent, std::string const& name, std::string const& why) {
    event(Level::error, text("Node ", name, " was lost: ", why));
    for (std::size_t node = 0; node < agents_.size(); ++node) {
        if (agents_[node] != agent) continue;
        nodes_[node].lost = true;
        for (auto& rank : ranks_) {
            bool const there = rank.node == static_cast<int>(node);
            bool const ran = rank.state == RankState::starting || rank.state == RankState::running;
            if (!there || !ran) continue;
            rank.state = RankState::lost;
            rank.detail = text("its node was lost: ", why);
        }
    }
    changed_ = true;
}

void JobDashboard::output(int rank, int stream, std::string_view bytes) {
    dashboard_.state().add_output(rank, stream, bytes, system_clock::now());
}

void JobDashboard::notice(std::string const& line) {
    auto words = std::string_view(line);
    if (constexpr std::string_view own = "sinew: "; words.starts_with(own))
        words.remove_prefix(own.size());
    event(Level::warning, std::string(words.substr(0, words.find_last_not_of('\n') + 1)));
}

// All agents together may send so many reports a second.
void JobDashboard::report(int agent, std::string const& node, ReportHead const& head,
                          std::string_view line) {
    constexpr std::size_t most_reports = 2000;
    take(node, head, line);
    auto const agents = std::max<std::size_t>(agents_.size(), 1);
    pauses_[agent] = loop_.after(std::chrono::microseconds(1'000'000 * agents / most_reports),
                                 [this, agent] { callbacks_.taken(agent); });
}

void JobDashboard::take(std::string const& node, ReportHead const& head, std::string_view line) {
    if (head.gone != 0) return pools_.gone(node, head.pid);
    if (!dashboard::is_operation_report(line))
        return pools_.take(node, head.pid, line, system_clock::now());
    try {
        take(dashboard::parse_operation_report(line));
    } catch (UsageError const& problem) {
        event(Level::warning,
              text("Process ", head.pid, " on ", node, " has sent ", problem.what()));
    }
}

void JobDashboard::take(dashboard::OperationReport report) {
    if (report.rank >= static_cast<int>(ranks_.size())) return;
    ranks_[report.rank].collective = std::move(report.collective);
    changed_ = true;
}

void JobDashboard::finish(int exit_code) {
    publishing_ = {};
    pauses_.clear();
    auto job = callbacks_.job();
    job.state = "ended";
    job.exit_code = exit_code;
    if (job.cause.empty()) event(Level::info, "The job has ended");
    else event(Level::error, text("The job has ended: ", job.cause));
    dashboard_.state().set(std::move(job));
    dashboard_.state().set(nodes_, ranks_);
    dashboard_.finish();
}

}  // namespace sinew::launch
