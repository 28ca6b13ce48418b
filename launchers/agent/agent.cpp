// SPDX-License-Identifier: Apache-2.0
// How an agent handles the root's orders, and how it ends.
#include "launchers/agent/agent.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sinew/error.hpp>
#include <string_view>

#include "launchers/agent/descendants.hpp"
#include "launchers/agent/place.hpp"
#include "launchers/common/exit_codes.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// Picks the root's address from which ssh connected, since that is known to work; else the first.
std::size_t best_root(std::vector<std::string> const& roots) {
    char const* const connection = ::getenv("SSH_CONNECTION");  // "10.0.0.1 51234 10.0.0.2 22"
    if (connection == nullptr) return 0;
    std::string_view const words = connection;
    auto const host = std::string(words.substr(0, words.find(' ')));
    for (std::size_t i = 0; i < roots.size(); ++i)
        if (wire::Address::parse(roots[i]).host == host) return i;
    return 0;
}

}  // namespace

Agent::Agent(wire::Loop& loop, AgentConfig config, JobFolder const& folder)
    : loop_(loop), config_(std::move(config)),
      folder_(folder), credentials_{.secret = wire::Secret::from_hex(config_.secret),
                                    .self = {.node = static_cast<std::uint32_t>(config_.node),
                                             .slot = 0,
                                             .epoch = config_.incarnation,
                                             .name = text("agent on ", config_.name)}},
      fences_(config_.node) {
    try {
        place_ = place_of_this_node();
    } catch (UsageError const& problem) {
        // A wrong place affects only the order of the ranks, and must not fail the job.
        log_warning(text(config_.name, ": its place is not known: ", problem.what()));
    }
}

Agent::~Agent() = default;

int Agent::run() {
    if (config_.listen) listen();
    dial_until_ = wire::Clock::now() + std::chrono::milliseconds(config_.patience_ms);
    dial_root(best_root(config_.roots));
    orphans_ = loop_.every(std::chrono::seconds(5), [this] { reap_orphans(); });
    try {
        loop_.run();
    } catch (std::exception const& problem) {
        tell_failure(problem.what());
        throw;
    }
    job_.reset();
    return code_;
}

// Sends the cause to the root, so that `sinew run` reports it instead of a lost connection.
void Agent::tell_failure(std::string const& why) {
    if (!parent_) return;
    up(Kind::failing, {bytes_of(why)});
    parent_->flush();
}

void Agent::handle(Kind kind, std::span<std::byte const> body) {
    switch (kind) {
        case Kind::launch:
            return launch(decode<Launch>(text_of(body)));
        case Kind::finish:
            return finish();
        case Kind::stop: {
            if (job_) job_->stop(decode<Stop>(text_of(body)));
            return;
        }
        case Kind::signal: {
            auto const number = take_head<std::int32_t>(body);
            if (job_) job_->signal(number);
            return;
        }
        case Kind::input: {
            if (job_) job_->input(text_of(body));
            return;
        }
        case Kind::credit: {
            auto const bytes = take_head<std::int64_t>(body);
            if (job_) job_->credit(bytes);
            if (finishing_now_) finish_step();
            return;
        }
        default:
            return handle_mpi(kind, body);
    }
}

void Agent::handle_mpi(Kind kind, std::span<std::byte const> body) {
    auto* const mpi = job_ ? job_->mpi() : nullptr;
    if (mpi == nullptr) return;
    if (kind == Kind::modex) mpi->modex_wanted(take_head<ModexHead>(body));
    if (kind == Kind::modex_reply) {
        auto const head = take_head<ModexHead>(body);
        mpi->modex_arrived(head, body);
    }
    if (kind == Kind::name_reply) mpi->name_arrived(decode<NameReply>(text_of(body)));
}

void Agent::launch(Launch launch) {
    if (job_) {  // the ranks of its epoch have ended, but not all their descendants
        job_.reset();
        kill_descendants();
    }
    fences_.restart(launch.epoch, NodeSet(launch.agents));
    learn_tree(launch.parents);
    job_ = std::make_unique<NodeJob>(
        loop_, *this, folder_, NodeJob::Setting{.node_name = config_.name, .interface = interface_},
        std::move(launch));
    job_->start();
}

void Agent::finish() {
    finishing_now_ = true;
    if (job_) job_->stop({.signal = 0, .grace_ms = 0});
    // Kills all remaining processes, in any group: they may hold the pipes' write ends.
    if (auto const left = kill_descendants())
        up(Kind::notice, {bytes_of(text(left, " processes on ", config_.name,
                                        " could not be killed (uninterruptible sleep?)\n"))});
    finish_step();
}

// Waits until all output is delivered and all children have left, then sends `bye` to the parent.
void Agent::finish_step() {
    if (job_) job_->wind_up();
    if ((job_ && job_->has_output()) || !children_.empty() || !parent_) return;
    job_.reset();
    up(Kind::bye, {});
    parent_->close();
}

void Agent::leave() {
    if (finishing_now_ || leaving_) return;
    leaving_ = true;
    if (!parent_ && !job_) return end(128 + SIGTERM);  // no root to notify and no ranks to end
    up(Kind::leaving, {});
    // The root orders the rest. If it does not, the timer ends this agent.
    if (job_) job_->signal(SIGTERM);
    leave_timer_ = loop_.after(std::chrono::seconds(15), [this] { end(128 + SIGTERM); });
}

void Agent::give_up(std::string const& why) {
    log_warning(text("agent on ", config_.name, ": ", why));
    tell_failure(why);
    end(exit_launcher_failed);
    // Removes the root's folders on this host; if the root was killed, no other process does it.
    for (auto const& folder : config_.folders) remove_if_stale(folder);
}

void Agent::end(int code) {
    code_ = code;
    finishing_now_ = true;
    job_.reset();
    kill_descendants();
    loop_.stop();
}

void Agent::reap_orphans() {
    if (!job_) reap_adopted({});
    else reap_adopted(job_->pids());
}

}  // namespace sinew::launch
