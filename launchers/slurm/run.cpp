// SPDX-License-Identifier: Apache-2.0
#include "launchers/slurm/run.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <optional>
#include <sinew/error.hpp>
#include <utility>

#include "launchers/common/durations.hpp"
#include "launchers/common/exit_codes.hpp"
#include "launchers/common/job_name.hpp"
#include "launchers/common/signals.hpp"
#include "launchers/program/command_output.hpp"
#include "launchers/slurm/job_state.hpp"
#include "launchers/slurm/output_file.hpp"
#include "launchers/slurm/submission.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::slurm {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto between_reads = 200ms;
// How often slurmctld is asked: soon at first, then rarely, as others ask it, too.
constexpr auto first_questions = 1s, later_questions = 3s, early = 30s;
// How long Slurm may be silent, or not know the job.
constexpr auto longest_silence = 5min;
// How long the files may take to appear here after the job has ended.
constexpr auto file_time = 10s;

std::string job_name(RunOptions const& options) {
    if (!options.name.empty()) return options.name;
    std::string_view program = options.apps.front().argv.front();
    program.remove_prefix(program.rfind('/') + 1);
    return make_job_name(program);
}

// One job from its submission to its end.
class SubmittedJob {
public:
    explicit SubmittedJob(RunOptions options)
        : options_(std::move(options)), name_(job_name(options_)) {}
    int run();

private:
    int follow();
    void ask();
    void show_state();
    void on_signals();
    bool copy_output();
    void drain_output();
    int conclude();
    void remove_files();
    void cancel(Words const& how) const;
    void notice(std::string const& line, int verbosity = 0) const {
        if (options_.verbosity >= verbosity) std::cerr << "sinew: " << line << std::endl;
    }

    RunOptions const options_;
    std::string const name_;
    Signals signals_;
    std::string id_;
    std::optional<OutputFile> out_, err_;
    std::optional<JobState> job_;  ///< as Slurm has described it last
    std::string shown_;            ///< the last line about the state
    Clock::time_point begun_ = Clock::now(), answered_ = begun_, next_question_ = begun_;
    int restarts_ = 0;
    int stopped_by_ = 0;  ///< a signal
    bool abandoned_ = false;
};

int SubmittedJob::run() {
    if (::access(".", W_OK) != 0)
        throw UsageError(
            text("the job writes its output into this folder, which cannot be written (",
                 std::strerror(errno), "). Start it in another, which the nodes share"));
    id_ = submit(options_, name_);
    auto const output = output_name(name_, id_);
    if (options_.detach) {
        std::cout << name_ << std::endl;
        notice(text("Slurm job ", id_, " was submitted; its output goes to ", output,
                    ".out and .err. ", "sinew attach ", name_,
                    " --backend slurm shows it, sinew stop ", name_, " --backend slurm ends it"));
        return 0;
    }
    notice(text("Slurm job ", id_, " (", name_, ") was submitted"), 1);
    out_.emplace(output + ".out", STDOUT_FILENO);
    err_.emplace(output + ".err", STDERR_FILENO);
    try {
        return follow();
    } catch (SystemError const& problem) {  // nobody reads the output
        cancel({id_});
        remove_files();
        if (problem.error_number() == EPIPE) return 128 + SIGPIPE;
        throw;
    } catch (Error const& problem) {
        throw Unavailable(text(problem.what(), ". Slurm job ", id_,
                               " may still run; its output is in ", output,
                               ".out and .err. See squeue --jobs=", id_));
    }
}

int SubmittedJob::follow() {
    for (;;) {
        on_signals();
        bool const more = copy_output();
        if (abandoned_) return 128 + stopped_by_;
        if (Clock::now() >= next_question_) ask();
        if (job_ && job_->ended()) return conclude();
        if (more) continue;
        pollfd ready{.fd = signals_.fd(), .events = POLLIN, .revents = 0};
        ::poll(&ready, 1, static_cast<int>(between_reads.count()));
    }
}

void SubmittedJob::ask() {
    std::string problem;
    auto job = query(id_, &problem);
    auto const now = Clock::now();
    next_question_ = now + (now - begun_ < early ? first_questions : later_questions);
    if (job) {
        answered_ = now;
        job_ = std::move(job);
        return show_state();
    }
    if (now - answered_ > longest_silence)
        throw Unavailable(text("Slurm does not say for ", in_words(longest_silence),
                               " what has become of the job (", problem, ")"));
}

// What it waits for, when that changes; that it has been begun again.
void SubmittedJob::show_state() {
    if (job_->restarts > std::exchange(restarts_, job_->restarts))
        notice(text("Slurm job ", id_, " was put into the queue again (restart ", restarts_, ")"));
    auto line = job_->waits()
                    ? text("Slurm job ", id_, " waits: ", job_->state, " (", job_->reason, ")")
                    : std::string();
    // A job that is about to start is not worth a line.
    bool const starts = job_->reason == "None";
    if (line != shown_ && !line.empty() && !starts) notice(line);
    if (!starts || line.empty()) shown_ = std::move(line);
}

// The first signal ends the job in order, and another at once.
void SubmittedJob::on_signals() {
    if (signals_.count() == 0) return;
    int const signal = signals_.take();
    signals_.restart_count();
    if (signal == 0) return;
    if (auto job = query(id_)) job_ = std::move(job);
    bool const runs = job_ && job_->state == "RUNNING";
    if (stopped_by_ == 0 && runs) {
        notice(text(::strsignal(signal), ": ending Slurm job ", id_, " (again: at once)"));
        cancel({"--batch", text("--signal=", signal == SIGINT ? "INT" : "TERM"), id_});
        next_question_ = Clock::now() + 500ms;
    } else {
        notice(text(::strsignal(signal), ": cancelling Slurm job ", id_));
        cancel({id_});
        abandoned_ = true;
    }
    if (stopped_by_ == 0) stopped_by_ = signal;
    if (abandoned_) {
        drain_output();
        remove_files();
    }
}

void SubmittedJob::cancel(Words const& how) const {
    Words words{"scancel"};
    words.insert(words.end(), how.begin(), how.end());
    auto const asked = command_output(words, {.time = 10s});
    if (!asked.succeeded())
        notice(text("Slurm job ", id_, " may not end: scancel has failed",
                    asked.err.empty() ? "" : ": ", asked.err.substr(0, asked.err.find('\n'))),
               -1);
}

bool SubmittedJob::copy_output() {
    bool const out = out_->copy(), err = err_->copy();
    return out || err;
}

void SubmittedJob::drain_output() {
    while (copy_output()) {}
}

int SubmittedJob::conclude() {
    auto const until = Clock::now() + (job_->batch_host.empty() ? 0s : file_time);
    drain_output();
    while (!(out_->there() && err_->there()) && Clock::now() < until) {
        ::poll(nullptr, 0, static_cast<int>(between_reads.count()));
        drain_output();
    }
    drain_output();
    bool const seen = out_->there() && err_->there();
    auto const why = explain(*job_);
    if (stopped_by_ == 0 && !why.empty() && !err_->said(why)) notice(why, -1);
    if (!seen && !job_->batch_host.empty())
        notice(
            text("the output of Slurm job ", id_, " is not in this folder (", out_->path(),
                 "), but on ", job_->batch_host, ". Start jobs in a folder that the nodes share"),
            -1);
    remove_files();
    if (stopped_by_ != 0) return 128 + stopped_by_;
    int const code = exit_code_of(*job_);
    bool const told = code == 128 + SIGTERM && job_->state == "FAILED";
    return told && is_before_limit(*job_, early_signal(options_)) ? exit_timeout : code;
}

void SubmittedJob::remove_files() {
    out_->remove();
    err_->remove();
}

}  // namespace

int run(RunOptions const& options) {
    ::signal(SIGPIPE, SIG_IGN);
    SubmittedJob job(options);
    return job.run();
}

int plan(RunOptions const& options) {
    auto const name = job_name(options);
    for (auto const& word : submit_words(options, name)) std::cout << word << ' ';
    std::cout << "<<'END'\n"
              << script(options, name) << "END\nbackend: slurm\n"
              << "(ranks are placed when Slurm has chosen the nodes)\n";
    return 0;
}

}  // namespace sinew::launch::slurm
