// SPDX-License-Identifier: Apache-2.0
#include "launchers/verbs/host_job.hpp"

#include <sinew/error.hpp>

#include "launchers/verbs/answer_reader.hpp"
#include "launchers/verbs/control_connection.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;
using Clock = ControlConnection::Clock;
using AnswerKind = ControlAnswer::Kind;
using Verb = ControlRequest::Verb;

constexpr auto answer_time = 5s;
// Beyond the grace period, for the job to report and clean up.
constexpr auto ending_time = 60s;

[[noreturn]] void lost(std::string const& name) {
    throw Unavailable(text("the connection to ", name,
                           " has ended without its exit code. Was its sinew run "
                           "killed?"));
}

/// Passes output on until the answer that is not output: the end of the logs or of the job.
ControlAnswer show(std::string const& name, std::string const& folder,
                   ControlRequest const& request, LogSink& sink) {
    ControlConnection connection(folder);
    connection.send(request);
    AnswerReader answers(connection);
    while (auto answer = answers.next()) {
        switch (answer->kind) {
            case AnswerKind::output:
                sink.output(answer->record);
                break;
            case AnswerKind::skipped:
                sink.skipped(answer->bytes);
                break;
            case AnswerKind::refused:
                throw Unavailable(text(name, ": ", answer->text));
            case AnswerKind::logs_end:
            case AnswerKind::ended:
                return std::move(*answer);
            case AnswerKind::status:
            case AnswerKind::stopping:
                break;
        }
    }
    lost(name);
}

ControlRequest request_for(Verb verb, LogOptions const& options) {
    return {.verb = verb,
            .ranks = options.ranks,
            .follow = options.follow,
            .tail = options.tail,
            .now = false,
            .grace = {}};
}

/// What can be said of a job whose `sinew run` is silent.
JobSummary silent(std::string const& name, pid_t root, char const* state) {
    JobSummary job;
    job.name = name;
    job.state = state;
    job.pid = root;
    return job;
}

}  // namespace

JobSummary HostJob::summary() {
    ControlConnection connection(folder_);
    if (connection.root_is_stopped()) return silent(name_, connection.root(), "stopped");
    try {
        connection.send({});
        auto const answer = connection.answer(Clock::now() + answer_time);
        if (!answer) throw Unavailable(text(name_, " has ended"));
        if (answer->kind != AnswerKind::status) return silent(name_, connection.root(), "silent");
        return answer->job;
    } catch (Timeout const&) {
        return silent(name_, connection.root(),
                      connection.root_is_stopped() ? "stopped" : "silent");
    }
}

void HostJob::logs(LogOptions const& options, LogSink& sink) {
    show(name_, folder_, request_for(Verb::logs, options), sink);
}

JobHandle::End HostJob::attach(LogOptions const& options, LogSink& sink) {
    auto const end = show(name_, folder_, request_for(Verb::attach, options), sink);
    if (end.kind != AnswerKind::ended) lost(name_);
    return {end.exit_code, end.text};
}

void HostJob::stop(StopOptions const& options) {
    ControlConnection connection(folder_);
    connection.send({.verb = Verb::stop,
                     .ranks = {},
                     .follow = false,
                     .tail = {},
                     .now = options.now,
                     .grace = options.grace});
    auto until = Clock::now() + ending_time;
    for (;;) {
        // A `sinew run` that was stopped (Ctrl-Z) can end its job only after SIGCONT.
        if (connection.root_is_stopped()) connection.continue_root();
        try {
            auto const answer = connection.answer(std::min(until, Clock::now() + 1s));
            if (!answer || answer->kind == AnswerKind::ended) break;
            if (answer->kind == AnswerKind::refused)
                throw Unavailable(text(name_, ": ", answer->text));
            if (answer->kind == AnswerKind::stopping)
                until = Clock::now() + answer->grace + ending_time;
        } catch (Timeout const&) {
            if (Clock::now() >= until) break;
        }
    }
    if (!connection.root_ends(until))
        throw Timeout(text(name_, " has not ended: its sinew run (pid ", connection.root(),
                           ") still runs. Try sinew stop --now ", name_));
}

}  // namespace sinew::launch
