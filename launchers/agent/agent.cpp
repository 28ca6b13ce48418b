// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/agent.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <sinew/error.hpp>
#include <sinew/version.hpp>

#include "launchers/agent/descendants.hpp"
#include "launchers/agent/place.hpp"
#include "launchers/common/exit_codes.hpp"
#include "launchers/common/host_name.hpp"
#include "launchers/common/timestamp.hpp"
#include "launchers/map/binding.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// Not zero, which would mean that there is none.
std::uint64_t random_number() {
    std::random_device device;
    return std::uint64_t(device()) << 32 | device() | 1;
}

// What the root learns about this node.
Hello description(AgentConfig const& config, JobProgress const& progress) {
    auto const now = milliseconds_of(std::chrono::system_clock::now());
    Hello hello{.node = config.node,
                .incarnation = config.incarnation,
                .name = config.name,
                .version = std::string(sinew::version()),
                .pid = ::getpid(),
                .cores = usable_cores(),
                .host = host_name(),
                .address = {},
                .interface = {},
                .listen = {},
                .free_port = free_port(),
                .unreachable = everyone,
                .place = config.place,
                .process = config.process != 0 ? config.process : random_number(),
                .began_ms = config.began_ms != 0 ? config.began_ms : now,
                .progress = progress,
                .dials = 0,
                .accepted_ms = 0};
    if (config.place != Place{}) return hello;
    try {
        hello.place = place_of_this_node();
    } catch (UsageError const& problem) {
        // A wrong place affects only the order of the ranks, and must not fail the job.
        log_warning(text(config.name, ": its place is not known: ", problem.what()));
    }
    return hello;
}

}  // namespace

Agent::Agent(wire::Loop& loop, AgentConfig config, JobFolder const& folder, JobProgress progress)
    : loop_(loop), config_(std::move(config)), folder_(folder), progress_(progress),
      tree_(loop_, config_, description(config_, progress_), folder_.path(),
            {.message = [this](Kind kind, auto body) { handle(kind, body); },
             .fence_done =
                 [this](auto const& key, auto const& parts) {
                     if (job_) job_->fence_done(key, parts);
                 },
             .fence_failed =
                 [this](auto const& key, auto const& why) {
                     if (job_) job_->fence_failed(key, why);
                 },
             .root_lost =
                 [this](auto const& why) {
                     lost_root_ = true;
                     give_up(why);
                 },
             .waiting =
                 [this](auto const& why) {
                     log_warning(text("agent on ", config_.name, " waits: ", why));
                 },
             .child_left = [this] { finish_step(); },
             .parent_left = [this] { loop_.stop(); }}) {}

Agent::~Agent() = default;

int Agent::run() {
    tree_.connect();
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
    if (!tree_.has_parent()) return;
    tree_.up(Kind::failing, {bytes_of(why)});
    tree_.flush();
}

void Agent::handle(Kind kind, std::span<std::byte const> body) {
    switch (kind) {
        case Kind::launch:
            return launch(decode<Launch>(text_of(body)));
        case Kind::finish:
            return finish();
        case Kind::dismiss:
            return dismiss();
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
        case Kind::report_taken: {
            if (job_) job_->report_taken();
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
    tree_.restart(launch.epoch, launch.agents, launch.parents);
    progress_ = launch.progress;
    tree_.set_progress(progress_);
    job_ = std::make_unique<NodeJob>(
        loop_, tree_, folder_,
        NodeJob::Setting{.agent = config_.node, .interface = tree_.interface(), .gpus = gpus_},
        std::move(launch));
    job_->start();
}

void Agent::finish() {
    finish_now();
    if (job_) job_->stop({.signal = 0, .grace_ms = 0});
    // Kills all remaining processes, in any group: they may hold the pipes' write ends.
    if (auto const left = kill_descendants())
        tree_.up(Kind::notice, {bytes_of(text(left, " processes on ", config_.name,
                                              " could not be killed (uninterruptible sleep?)\n"))});
    finish_step();
}

// Those below find other parents.
void Agent::dismiss() {
    dismissed_ = true;
    finish();
}

// Waits until all output is delivered and all children have left, then sends `bye` to the parent.
void Agent::finish_step() {
    if (job_) job_->wind_up();
    if ((job_ && job_->has_output()) || !tree_.has_parent()) return;
    if (tree_.has_children() && !dismissed_) return;
    job_.reset();
    tree_.close();
}

void Agent::leave() {
    if (finishing_now_ || leaving_) return;
    leaving_ = true;
    if (!tree_.has_parent() && !job_)
        return end(128 + SIGTERM);  // no root to notify and no ranks to end
    tree_.up(Kind::leaving, {});
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
    finish_now();
    job_.reset();
    kill_descendants();
    loop_.stop();
}

void Agent::finish_now() {
    finishing_now_ = true;
    tree_.farewell();
}

void Agent::reap_orphans() {
    if (!job_) reap_adopted({});
    else reap_adopted(job_->pids());
}

}  // namespace sinew::launch
