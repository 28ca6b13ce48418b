// SPDX-License-Identifier: Apache-2.0
#include "launchers/pods/pod_agent.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "launchers/agent/init_process.hpp"
#include "launchers/common/exit_codes.hpp"
#include "launchers/pods/root_discovery.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// An agent that reaches no root gives up so long before the end of its patience at most.
constexpr auto least_patience = std::chrono::seconds(2);

// The root's pod may get its address, or another one, meanwhile.
constexpr auto ask_again = std::chrono::seconds(10);

}  // namespace

PodAgent::PodAgent(PodConfig const& config, PodIdentity const& identity, RunOptions const& options,
                   JobFolder& folder)
    : config_{.job = config.job,
              .secret = config.secret,
              .node = identity.index,
              .name = identity.name,
              .incarnation = 0,
              .roots = identity.roots,
              // The number of nodes may grow, and the first ones get others below them then.
              .listen = config.nodes > options.tree_fanout || options.max_restarts > 0,
              .folders = {},
              .patience_ms = 0,
              .by_itself = true,
              .address = identity.address,
              .place = identity.place},
      roots_(identity.roots), asks_for_(config.discovery == "api" ? identity.job() : ""),
      port_(config.port), patience_(config.root_patience), may_restart_(options.max_restarts > 0),
      folder_(folder) {}

int PodAgent::run() {
    ::signal(SIGPIPE, SIG_IGN);
    auto const signals = loop_.signals({SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2},
                                       [this](int number) { on_signal(number); });
    accept_signals();
    until_ = wire::Clock::now() + patience_;
    int code = 0;
    try {
        while (serve(code) == Then::again) {}
    } catch (std::exception const& problem) {
        log_warning(text("agent on ", config_.name, ": ", problem.what()));
        code = 1;
    }
    if (init_process_is_gone()) folder_.remove();
    return code;
}

// One agent, from the first attempt to reach a root to the loss of that root.
PodAgent::Then PodAgent::serve(int& code) {
    aim();
    agent_ = std::make_unique<Agent>(loop_, config_, folder_, progress_);
    int const end = agent_->run();
    auto const agent = std::exchange(agent_, nullptr);
    progress_ = agent->progress();
    // The next one is of the same process, so that it does not pass for a replacement.
    config_.process = agent->self().process;
    config_.began_ms = agent->self().began_ms;
    ++config_.incarnation;
    bool const begun = progress_.epochs > 0;
    int const given_up = may_restart_ ? exit_replace : 1;
    if (agent->left()) {
        code = exit_replace;
    } else if (!agent->lost_root()) {
        code = end == 0 ? 0 : agent->was_refused() ? given_up : 1;
    } else if (init_process_is_gone() || (begun && !may_restart_)) {
        code = 1;
    } else if (agent->was_attached()) {
        log_warning(text("agent on ", config_.name, ": waits for another root"));
        until_ = wire::Clock::now() + patience_;
        return Then::again;
    } else if (wire::Clock::now() + least_patience < until_) {
        return Then::again;  // the root has ended its link
    } else {
        code = given_up;
    }
    return Then::over;
}

void PodAgent::aim() {
    using std::chrono::milliseconds;
    auto patience = std::chrono::duration_cast<milliseconds>(until_ - wire::Clock::now());
    if (!asks_for_.empty()) {
        config_.roots = roots_by_api(asks_for_, port_);
        config_.roots.insert(config_.roots.end(), roots_.begin(), roots_.end());
        patience = std::min<milliseconds>(patience, ask_again);
    }
    config_.patience_ms = std::max<std::int64_t>(patience.count(), 1);
}

void PodAgent::on_signal(int number) {
    if (init_process_is_gone()) agent_->give_up("its init process was killed; ending the ranks");
    else if (number != SIGUSR1 && number != SIGUSR2) agent_->leave();
}

}  // namespace sinew::launch
