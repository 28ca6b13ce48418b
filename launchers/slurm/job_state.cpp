// SPDX-License-Identifier: Apache-2.0
#include "launchers/slurm/job_state.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>

#include "launchers/common/exit_codes.hpp"
#include "launchers/program/command_output.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::slurm {
namespace {

// The first value of that key: what users have named comes later in the line.
std::string value_of(std::string_view line, std::string_view key) {
    auto const name = text(" ", key, "=");
    auto at = line.find(name);
    if (at == line.npos) return {};
    line.remove_prefix(at + name.size());
    return std::string(line.substr(0, line.find_first_of(" \n")));
}

int number_in(std::string_view words) {
    int value = 0;
    std::from_chars(words.data(), words.data() + words.size(), value);
    return value;
}

// "1-02:03:04", "02:03:04" or "03:04". No value: it is something else, such as UNLIMITED.
std::optional<std::chrono::seconds> parse_time(std::string_view words) {
    if (words.empty() || words.find_first_not_of("0123456789:-") != words.npos) return std::nullopt;
    long long seconds = 0;
    if (auto const dash = words.find('-'); dash != words.npos) {
        seconds = 24LL * number_in(words.substr(0, dash));
        words.remove_prefix(dash + 1);
    }
    for (auto rest = words; !rest.empty();) {
        auto const part = rest.substr(0, rest.find(':'));
        seconds = (part.data() == words.data() ? seconds : seconds * 60) + number_in(part);
        rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    }
    return std::chrono::seconds(seconds);
}

// An end that Slurm has brought about.
struct Ending {
    std::string_view state, what, remedy;
    int exit_code;
};

constexpr std::array endings{
    Ending{"TIMEOUT", "its time limit has passed", "Ask for more by --time", exit_timeout},
    Ending{"DEADLINE", "its deadline has passed", "See --slurm-arg=--deadline", exit_timeout},
    Ending{"CANCELLED", "it was cancelled", "See scontrol show job for by whom", 128 + SIGTERM},
    Ending{"OUT_OF_MEMORY", "it used more memory than it was given",
           "Ask for more by --slurm-arg=--mem-per-cpu=SIZE", 128 + SIGKILL},
    Ending{"NODE_FAIL", "a node has failed",
           "With --slurm-arg=--requeue Slurm begins such a job again", exit_launcher_failed},
    Ending{"PREEMPTED", "it made way for a job of higher priority",
           "See --qos and --partition, or --slurm-arg=--requeue", exit_launcher_failed},
    Ending{"BOOT_FAIL", "a node could not be booted", "Submit it again", exit_launcher_failed},
    Ending{"REVOKED", "another cluster runs it", "See squeue --federation", exit_launcher_failed}};

Ending const* ending_of(std::string_view state) {
    auto const at =
        std::ranges::find_if(endings, [&](Ending const& each) { return each.state == state; });
    return at == endings.end() ? nullptr : &*at;
}

}  // namespace

bool JobState::waits() const {
    static constexpr std::array<std::string_view, 6> states{
        "PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"};
    return std::ranges::find(states, state) != states.end();
}

bool JobState::ended() const {
    return state == "COMPLETED" || state == "FAILED" || ending_of(state) != nullptr;
}

std::optional<JobState> parse_job(std::string_view line) {
    if (!line.starts_with("JobId=")) return std::nullopt;
    JobState job;
    job.id = line.substr(6, line.find_first_of(" \n") - 6);
    job.state = value_of(line, "JobState");
    job.reason = value_of(line, "Reason");
    job.batch_host = value_of(line, "BatchHost");
    job.time_limit = value_of(line, "TimeLimit");
    job.restarts = number_in(value_of(line, "Restarts"));
    auto const run = parse_time(value_of(line, "RunTime")), limit = parse_time(job.time_limit);
    if (run && limit) job.left = *limit - *run;
    auto const code = value_of(line, "ExitCode");  // "1:0": the code, and the signal
    job.exit_code = number_in(code);
    if (auto const colon = code.find(':'); colon != code.npos)
        job.signal = number_in(std::string_view(code).substr(colon + 1));
    if (job.state.empty()) return std::nullopt;
    return job;
}

std::optional<JobState> query(std::string const& id, std::string* problem) {
    auto const asked = command_output({"scontrol", "show", "job", "--oneliner", id},
                                      {.time = std::chrono::seconds(2)});
    if (asked.succeeded())
        if (auto job = parse_job(asked.out)) return job;
    if (problem != nullptr) {
        *problem = asked.timed_out ? "scontrol does not answer" : asked.err;
        while (!problem->empty() && problem->back() == '\n') problem->pop_back();
    }
    return std::nullopt;
}

std::string explain(JobState const& job) {
    // While its processes are ended, its state does not say why.
    bool const late = job.state == "COMPLETING" && job.left && *job.left <= std::chrono::seconds(0);
    auto const* const ending = ending_of(late ? "TIMEOUT" : job.state);
    if (ending == nullptr) return {};
    auto const what = ending->state == "TIMEOUT" ? text(ending->state, ", ", job.time_limit)
                                                 : std::string(ending->state);
    return text("Slurm job ", job.id, ": ", ending->what, " (", what, "). ", ending->remedy);
}

bool is_before_limit(JobState const& job, std::optional<std::chrono::seconds> signalled) {
    constexpr std::chrono::seconds resolution(60);  // with which Slurm sends it
    return signalled && job.left && *job.left <= *signalled + resolution;
}

std::string explain_signal(JobState const& job, std::optional<std::chrono::seconds> signalled) {
    auto why = explain(job);
    if (why.empty() && is_before_limit(job, signalled))
        why = text("Slurm job ", job.id, ": it was told to end before its time limit (",
                   job.time_limit, ") passes. Ask for more by --time");
    return why;
}

int exit_code_of(JobState const& job) {
    if (auto const* const ending = ending_of(job.state)) return ending->exit_code;
    if (job.signal != 0) return 128 + job.signal;
    return job.exit_code;
}

}  // namespace sinew::launch::slurm
