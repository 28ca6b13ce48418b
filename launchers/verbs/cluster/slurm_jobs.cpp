// SPDX-License-Identifier: Apache-2.0
#include "launchers/verbs/cluster/slurm_jobs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <iostream>
#include <sinew/error.hpp>
#include <sstream>
#include <thread>
#include <utility>

#include "launchers/common/durations.hpp"
#include "launchers/common/exit_codes.hpp"
#include "launchers/program/command_output.hpp"
#include "launchers/slurm/in_job.hpp"
#include "launchers/slurm/job_state.hpp"
#include "launchers/slurm/submission.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Slurm needs up to 30 s (KillWait) to end what ignores signals.
constexpr auto slurm_ending_time = 90s;

std::string first_line(std::string const& words) { return words.substr(0, words.find('\n')); }

// "2026-11-26T11:09:16", in local time; the beginning of the epoch if it is "N/A".
JobSummary::Time parse_slurm_time(std::string const& words) {
    std::tm time{};
    if (::strptime(words.c_str(), "%Y-%m-%dT%H:%M:%S", &time) == nullptr) return {};
    time.tm_isdst = -1;
    return std::chrono::system_clock::from_time_t(std::mktime(&time));
}

// What the fields of a line of squeue are, in this order.
constexpr char fields[] = "--format=%i|%T|%D|%S|%V|%r|%B|%j|%k";

std::string reason_of(slurm::JobState const& state) {
    return state.reason == "None" ? "waiting" : text("waiting (", state.reason, ")");
}

// No value: the job is not ours.
std::optional<JobSummary> parse_queue_line(std::string const& line) {
    std::array<std::string, 9> words;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        // The comment is the last, and may have any characters.
        auto const end = i + 1 < words.size() ? line.find('|', begin) : line.size();
        if (end == line.npos) return std::nullopt;
        words[i] = line.substr(begin, end - begin);
        begin = end + 1;
    }
    auto const comment = slurm::parse_comment(words[8]);
    if (!comment) return std::nullopt;
    JobSummary job;
    job.id = words[0];
    job.name = words[7];
    job.backend = "slurm";
    job.command = comment->command;
    job.ranks = comment->ranks;
    std::from_chars(words[2].data(), words[2].data() + words[2].size(), job.nodes);
    job.started = parse_slurm_time(words[3]);
    if (job.started == JobSummary::Time{}) job.started = parse_slurm_time(words[4]);
    job.host = words[6] == "n/a" ? "" : words[6];
    slurm::JobState const state{
        .id = words[0], .state = words[1], .reason = words[5], .batch_host = {}, .time_limit = {}};
    job.state = state.waits()                ? reason_of(state)
                : state.state == "RUNNING"   ? "running"
                : state.state == "SUSPENDED" ? "stopped"
                                             : "finishing";
    if (job.state == "running") job.ranks_running = job.ranks;
    if (state.waits()) job.cause = state.reason;
    return job;
}

std::vector<JobSummary> slurm_queue() {
    auto const asked = command_output({"squeue", "--me", "--noheader", "--sort=i", fields},
                                      {.time = 10s, .bytes = std::size_t{16} << 20});
    if (asked.start_error != 0)
        throw Unavailable("there is no squeue in PATH. Debian: apt-get install slurm-client");
    if (!asked.succeeded())
        throw Unavailable(text("squeue does not list the jobs: ",
                               asked.timed_out ? "no answer for 10 s" : first_line(asked.err)));
    std::vector<JobSummary> jobs;
    std::istringstream lines(asked.out);
    for (std::string line; std::getline(lines, line);)
        if (auto job = parse_queue_line(line)) jobs.push_back(std::move(*job));
    return jobs;
}

class SlurmJob final : public JobHandle {
public:
    explicit SlurmJob(JobSummary summary) : summary_(std::move(summary)) {}

    JobSummary summary() override {
        for (auto& job : slurm_queue())
            if (job.id == summary_.id) return summary_ = std::move(job);
        throw Unavailable(text(summary_.name, " has ended"));
    }

    void logs(LogOptions const& options, LogSink& sink) override {
        if (summary().state.starts_with("waiting"))
            throw Unavailable(text(summary_.name, " has no output yet (", summary_.state, ")"));
        Words words{"logs"};
        if (options.follow) words.emplace_back("--follow");
        auto const end = ask(std::move(words), options, sink);
        if (end.exit_code != 0) unreachable(end);
    }

    End attach(LogOptions const& options, LogSink& sink) override {
        wait_for_start();
        auto const end = ask({"attach"}, options, sink);
        auto job = slurm::query(summary_.id);
        for (auto const until = Clock::now() + 15s; job && !job->ended() && Clock::now() < until;
             job = slurm::query(summary_.id))
            std::this_thread::sleep_for(200ms);
        if (job && job->ended()) {
            auto const why = slurm::explain(*job);
            return {.exit_code = slurm::exit_code_of(*job), .cause = why.empty() ? end.cause : why};
        }
        return end;
    }

    void stop(StopOptions const& options) override {
        bool const waits = summary().state.starts_with("waiting");
        if (options.now) cancel({"--signal=KILL", "--full", summary_.id});
        else if (waits) cancel({summary_.id});
        else if (options.grace) stop_within(*options.grace);
        else cancel({"--batch", "--signal=TERM", summary_.id});
        auto const until = Clock::now() + options.grace.value_or(0ms) + slurm_ending_time;
        while (Clock::now() < until) {
            auto const jobs = slurm_queue();
            if (std::ranges::none_of(jobs, [&](auto const& job) { return job.id == summary_.id; }))
                return;
            std::this_thread::sleep_for(500ms);
        }
        throw Timeout(text(summary_.name,
                           " has not ended. --now ends it at once; scontrol show job ", summary_.id,
                           " shows what Slurm waits for"));
    }

private:
    using Words = slurm::Words;

    void wait_for_start() {
        std::string told;
        while (summary().state.starts_with("waiting")) {
            if (summary_.state != told)
                std::cerr << "sinew: " << summary_.name << ": " << (told = summary_.state)
                          << std::endl;
            std::this_thread::sleep_for(1s);
        }
    }

    // srun of one sinew in the job, where its `sinew run` is. That one ends by itself at the end of
    // the job: it must see the last words when Slurm sends SIGTERM to all processes of the job.
    Words in_job(Words const& verb) const {
        auto words = slurm::step_words({summary_.host}, summary_.id);
        for (auto const* word : {"--input=none", "sh", "-c", "trap '' TERM; exec \"$@\"", "sh"})
            words.emplace_back(word);
        auto const inner = slurm::sinew_words(verb);
        words.insert(words.end(), inner.begin(), inner.end());
        return words;
    }

    End ask(Words verb, LogOptions const& options, LogSink& sink) {
        for (auto const& word :
             {summary_.name, std::string("--backend"), std::string("auto"), std::string("--json")})
            verb.push_back(word);
        if (options.tail) verb.push_back(text("--tail=", *options.tail));
        if (options.ranks) {
            std::string list;
            for (int const rank : *options.ranks) list += text(list.empty() ? "" : ",", rank);
            verb.push_back("--ranks=" + list);
        }
        std::string last;
        int const code = slurm::run_by_line(
            in_job(verb), {.out =
                               [&](std::string_view line) {
                                   if (OutputRecord record; parse_output_line(line, record))
                                       sink.output(record);
                               },
                           .err =
                               [&](std::string_view line) {
                                   if (line.ends_with("lacks support for cpu binding")) return;
                                   if (!last.empty()) std::cerr << last << '\n';
                                   last = line;
                               }});
        // The last line is the cause of the end, which the caller shows.
        constexpr std::string_view prefix = "sinew: ";
        if (last.starts_with(prefix)) last.erase(0, prefix.size());
        return {.exit_code = code, .cause = code != 0 ? last : ""};
    }

    [[noreturn]] void unreachable(End const& end) const {
        throw Unavailable(text(summary_.name, " cannot be asked (srun of Slurm job ", summary_.id,
                               " ended with code ", end.exit_code, end.cause.empty() ? "" : ": ",
                               end.cause, ")"));
    }

    void stop_within(std::chrono::milliseconds grace) {
        std::string said;
        auto const keep = [&](std::string_view line) { said = line; };
        int const code = slurm::run_by_line(in_job({"stop", summary_.name, "--backend", "auto",
                                                    text("--grace=", grace.count(), "ms")}),
                                            {.out = keep, .err = keep});
        // It may have ended with the job.
        if (code == exit_not_found) unreachable({.exit_code = code, .cause = said});
    }

    static void cancel(Words const& how) {
        Words words{"scancel"};
        words.insert(words.end(), how.begin(), how.end());
        auto const asked = command_output(words, {.time = 10s});
        if (!asked.succeeded())
            throw Unavailable(text("scancel has failed",
                                   asked.timed_out ? " (no answer for 10 s)" : ": ",
                                   first_line(asked.err)));
    }

    JobSummary summary_;
};

class SlurmJobs final : public JobSource {
public:
    std::string_view name() const override { return "Slurm"; }
    std::vector<JobSummary> list() override { return slurm_queue(); }
    std::unique_ptr<JobHandle> find(std::string const& job) override {
        auto jobs = slurm_queue();
        auto const index = choose_job(jobs, job);
        if (!index) return nullptr;
        return std::make_unique<SlurmJob>(std::move(jobs[*index]));
    }
};

}  // namespace

std::unique_ptr<JobSource> make_slurm_jobs(JobSourceOptions const&) {
    return std::make_unique<SlurmJobs>();
}

}  // namespace sinew::launch
