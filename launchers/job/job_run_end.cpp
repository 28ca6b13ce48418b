// SPDX-License-Identifier: Apache-2.0
// How a job ends: by itself, by a failure, by a signal; and how it begins again.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <string_view>
#include <utility>

#include "launchers/common/exit_codes.hpp"
#include "launchers/job/job_run.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// What agents need beyond the grace period to report the ends of their ranks.
constexpr auto report_time = std::chrono::seconds(10);
constexpr auto farewell_time = std::chrono::seconds(10);
constexpr auto arrival_time = std::chrono::seconds(2);
constexpr auto reader_patience = std::chrono::seconds(5);

}  // namespace

void JobRun::on_signal(int number) {
    switch (number) {
        case SIGINT:
        case SIGTERM:
        case SIGHUP:
        case SIGQUIT:
            return interrupt(number);
        case SIGTSTP: {
            std::int32_t const stop = SIGTSTP;
            root_->send(everyone, Kind::signal, {bytes_of(stop)});
            // Once the message is out, as the shell expects of whom it has stopped.
            timers_.push_back(loop_.after(std::chrono::milliseconds(50), [] { ::raise(SIGSTOP); }));
            return;
        }
        default: {
            std::int32_t const forwarded = number;
            root_->send(everyone, Kind::signal, {bytes_of(forwarded)});
        }
    }
}

void JobRun::interrupt(int number) {
    ++interrupts_;
    causes_.interrupted(number);
    if (interrupts_ >= 3) {
        agents_->signal(SIGTERM);  // those that are stopped
        ::_exit(128 + number);     // the others see us gone, and clean up
    }
    if (phase_ == Phase::starting || phase_ == Phase::finishing) return finish();
    if (interrupts_ == 2) return stop({.signal = 0, .grace_ms = 0});
    stop(gently(number));
}

Stop JobRun::gently(int signal) const {
    using std::chrono::milliseconds;
    return {.signal = signal,
            .grace_ms = std::chrono::duration_cast<milliseconds>(options_.grace).count()};
}

void JobRun::failed() {
    if (phase_ == Phase::starting) return finish();
    if (phase_ == Phase::running) stop(gently(SIGTERM));
}

void JobRun::stop(Stop const& how) {
    if (phase_ == Phase::finishing) return;
    phase_ = Phase::stopping;
    root_->send(everyone, Kind::stop, {bytes_of(encode(how))});
    stop_timer_ = loop_.after(std::chrono::milliseconds(how.grace_ms) + report_time, [this] {
        for (int const rank : std::exchange(alive_, {}))
            causes_.node_lost(who(rank).node, text("the end of rank ", rank, " was not reported"));
        epoch_over();
    });
    if (alive_.empty()) epoch_over();
}

void JobRun::on_lost(int node, std::string const& why) {
    agents_->end(node);
    if (phase_ == Phase::finishing) {
        byes_.insert(node);
        return finish_step();
    }
    causes_.node_lost(node_name(node), why);
    for (int const rank : ranks_on(node)) alive_.erase(rank);
    failed();
    if (phase_ != Phase::starting && phase_ != Phase::finishing && alive_.empty()) epoch_over();
}

void JobRun::on_agent_ended(int node, AgentProcesses::End const& end) {
    if (phase_ == Phase::finishing) return finish_step();
    // Of one that had arrived its link tells, with more. One that ends well before the agent comes
    // has sent it on its way (rsh -f and the like).
    if (!end.awaited || (end.code == 0 && end.signal == 0)) return;
    auto const how = end.signal != 0 ? text("was killed by signal ", end.signal)
                                     : text("ended with code ", end.code);
    auto const last = end.words.substr(0, end.words.find_last_not_of(". ") + 1);
    auto const stop = last.ends_with('?') || last.ends_with('!') ? " " : ". ";
    causes_.launcher_failed(text("the agent for ", node_name(node), " (", backend_->name(), " to ",
                                 nodes_[node].host, ") ", how, last.empty() ? "" : ": ", last, stop,
                                 backend_->explain(end.code, end.words)));
    failed();
}

void JobRun::epoch_over() {
    if (phase_ == Phase::finishing || phase_ == Phase::starting) return;
    stop_timer_ = {};
    timeline_.mark("ranks ended");
    if (causes_.failed() && restart()) return;
    finish();
}

// The whole job again, on the same nodes. A planned leave costs nothing of the budget.
bool JobRun::restart() {
    if (interrupts_ > 0 || options_.max_restarts == 0) return false;
    if (!planned_ && failures_ >= options_.max_restarts) return false;
    // A program that is not there, or that the kernel refuses, will not be there the next time.
    if (auto const code = causes_.exit_code();
        causes_.not_started() && (code == exit_not_found || code == exit_not_executable))
        return false;
    if (!planned_) ++failures_;
    ++restarts_;
    ++epoch_;
    notice(text("sinew: ", causes_.summary(), "\nsinew: restart ", restarts_, " (",
                planned_ ? "planned, " : "", failures_, " of ", options_.max_restarts,
                " of the budget used)"),
           0);
    planned_ = false;
    phase_ = Phase::starting;
    for (int node = 0; node < static_cast<int>(nodes_.size()); ++node)
        if (!root_->present(node)) start_agent(node);
    expect_agents();
    bool all = true;
    for (int node = 0; node < static_cast<int>(nodes_.size()); ++node)
        all = all && root_->present(node);
    if (all) launch();
    return true;
}

void JobRun::finish() {
    if (phase_ == Phase::finishing) return;
    phase_ = Phase::finishing;
    root_->farewell();
    root_->send(everyone, Kind::finish, {});
    // Who is nearly there may come and be told the same; who hangs on the way cannot be told.
    timers_.push_back(loop_.after(arrival_time, [this] { agents_->give_up_on_absent(); }));
    finish_step();
}

// Everyone has said farewell, all output is written, all processes are gone: or time is up, which
// begins anew with every sign of life.
void JobRun::finish_step() {
    bool waiting = agents_->running() || (!writer_.idle() && !output_unread_);
    for (int const node : root_->present_nodes()) waiting = waiting || !byes_.contains(node);
    if (!waiting) return conclude();
    finish_timer_ = loop_.after(farewell_time, [this] {
        if (!writer_.idle() && !output_broken_ && !output_unread_)
            return finish_step();  // a slow reader may be slow
        agents_->signal(SIGTERM);
        finish_timer_ = loop_.after(std::chrono::seconds(2), [this] { conclude(); });
    });
}

// The closing words come last, and the loop runs until they are written: that they cannot be is a
// failure like any other of the output.
void JobRun::conclude() {
    if (std::exchange(concluded_, true)) return stop_when_written();
    timeline_.mark("cleaned up");
    finish_timer_ = {};
    if (output_unread_) return loop_.stop();  // leave_output_behind says them
    std::vector<OutputWrite> table;
    if (options_.output == OutputFormat::json)
        table.push_back({OutputWrite::Target::out, {}, causes_.json() + "\n"});
    write(std::move(table), [this](WriteFailure const& failure) {
        output_failed(failure);
        say_closing_words();
    });
}

void JobRun::say_closing_words() {
    if (auto words = closing_words(); !words.empty()) {
        printer_.end_line(OutputStream::err);
        auto writes = printer_.take();
        writes.push_back({OutputWrite::Target::err, {}, std::move(words)});
        write(std::move(writes), {});
    }
    stop_when_written();
}

// Called again when the writer is idle, or when nobody reads and it is not waited for any more.
void JobRun::stop_when_written() {
    if (writer_.idle() || output_unread_) loop_.stop();
}

// When time is up a slow reader may still be slow, but one that reads nothing is waited for no more:
// what the ranks have said is lost, and what they say.
void JobRun::watch_reader() {
    reader_timer_ = loop_.after(reader_patience, [this, before = writer_.written()] {
        if (writer_.idle() || writer_.written() != before) return watch_reader();
        output_unread_ = true;
        for (auto const& [node, bytes] : unwritten_)
            root_->send(node, Kind::credit, {bytes_of(bytes)});
        if (phase_ == Phase::finishing) finish_step();
    });
}

// The writer's thread is in a write() that may never return: whoever cleans up would wait for it.
void JobRun::leave_output_behind() {
    auto const words = closing_words() +
                       "sinew: nobody reads standard output or standard error; the rest of the "
                       "ranks' output is lost\n";
    pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    // So much fits into a pipe that is ready, without waiting.
    for (std::string_view left = words; !left.empty() && ::poll(&ready, 1, 100) == 1;) {
        ssize_t const count =
            ::write(STDERR_FILENO, left.data(), std::min<std::size_t>(left.size(), PIPE_BUF));
        if (count <= 0) break;
        left.remove_prefix(static_cast<std::size_t>(count));
    }
    root_.reset();
    folder_.reset();
    ::_exit(code_.value_or(causes_.exit_code()));
}

std::string JobRun::closing_words() {
    std::string words;
    if (options_.timing) words += text("sinew: ", timeline_.text(), "\n");
    if (options_.verbosity > 0) words += causes_.table();
    bool const reader_gone = output_broken_ && code_ == 128 + SIGPIPE;
    if (causes_.failed() && options_.verbosity >= 0 && !reader_gone)
        words += text(
            causes_.summary().starts_with("sinew run") ? "" : "sinew: ", causes_.summary(), "\n");
    return words;
}

}  // namespace sinew::launch
