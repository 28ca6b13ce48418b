// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <ostream>
#include <sinew/error.hpp>
#include <thread>

#include "launchers/common/exit_codes.hpp"
#include "launchers/verbs/verb_options.hpp"
#include "launchers/verbs/verbs.hpp"
#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

namespace po = boost::program_options;

constexpr char stop_usage[] =
    "sinew stop JOB... [flags]: ends jobs, and returns when they have ended\n\n"
    "  sinew stop train-x7k2p      SIGTERM to the ranks, SIGKILL after the job's --grace\n"
    "  sinew stop train eval       two jobs; the beginning of a name is enough\n"
    "  sinew stop --grace 1min train\n"
    "  sinew stop --now train      SIGKILL at once\n"
    "  sinew stop --all            all of your jobs on this host\n\n"
    "A job that was stopped by Ctrl-Z is continued and then ended. Its sinew run ends with\n"
    "code 143. exit code: 0 when all have ended, 1 without such a job, 125 if one cannot be\n"
    "asked or does not end\n\n";

StopOptions stop_options(po::variables_map const& values) {
    StopOptions options{.now = values.count("now") != 0, .grace = {}};
    if (values.count("grace") == 0) return options;
    auto const given = values["grace"].as<std::string>();
    auto const time = parse_duration(given);
    if (!time && given != "0" && given != "0s")
        throw UsageError(text("--grace ", given, " (must be 0 or a time such as 30s or 5min)"));
    options.grace =
        std::chrono::ceil<std::chrono::milliseconds>(time.value_or(std::chrono::nanoseconds(0)));
    return options;
}

struct Stopping {
    std::string name;
    std::unique_ptr<JobHandle> job;
    std::string problem = {};
};

}  // namespace

int stop_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err) {
    auto flags = verb_flags();
    flags.add_options()("now", "SIGKILL at once")(
        "grace", po::value<std::string>()->value_name("TIME"),
        "time between SIGTERM and SIGKILL; default: that of the job")("all",
                                                                      "all jobs instead of names");
    auto all = flags;
    all.add_options()("job", po::value<std::vector<std::string>>());
    auto const values = parse_small(arguments, all, "stop", "job");
    if (values.count("help") != 0) {
        out << stop_usage << flags;
        return 0;
    }
    auto const options = stop_options(values);
    auto const source = source_of(values);
    auto names = jobs_of(values);
    if (names.empty() == (values.count("all") == 0))
        throw UsageError(
            "no job is named, or jobs and --all (must be one of both). sinew ps lists "
            "the jobs");
    if (names.empty())
        for (auto const& job : source->list()) names.push_back(job.name);
    std::vector<Stopping> jobs;
    int code = 0;
    for (auto const& name : names) {
        auto job = find_job(*source, name, "stop", err);
        if (job) jobs.push_back({name, std::move(job)});
        else if (values.count("all") == 0) code = 1;
    }
    std::vector<std::thread> threads;
    for (auto& each : jobs)
        threads.emplace_back([&each, &options] {
            try {
                each.job->stop(options);
            } catch (std::exception const& problem) {
                each.problem = problem.what();
            }
        });
    for (auto& thread : threads) thread.join();
    for (auto const& each : jobs) {
        if (each.problem.empty()) {
            out << each.name << " stopped\n";
        } else {
            err << "sinew stop: " << each.problem << '\n';
            code = exit_launcher_failed;
        }
    }
    return code;
}

}  // namespace sinew::launch
