// SPDX-License-Identifier: Apache-2.0
#include "launchers/verbs/verb_options.hpp"

#include <ostream>
#include <sinew/error.hpp>

#include "launchers/command_line/flags.hpp"
#include "launchers/command_line/values.hpp"
#include "launchers/verbs/cluster/cluster_flags.hpp"
#include "launchers/verbs/job_sources.hpp"
#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace po = boost::program_options;

po::options_description verb_flags() {
    po::options_description all("flags");
    std::string names;
    for (auto const& source : job_sources())
        names += (names.empty() ? "" : ", ") + std::string(source.backend);
    auto const about = "where the jobs are: " + names;
    all.add_options()("help,h", "this text")(
        "backend",
        po::value<std::string>()
            ->default_value(env("SINEW_RUN_BACKEND").value_or("auto"))
            ->value_name("NAME"),
        about.c_str());
    add_service_flags(all);
    add_cluster_flags(all);
    return all;
}

void add_log_flags(po::options_description& flags) {
    flags.add_options()("ranks,r", po::value<std::string>()->value_name("LIST"),
                        "only these ranks, such as 0,2-4")(
        "tail", po::value<std::string>()->value_name("COUNT"), "begin with the last COUNT lines")(
        "tag", "begin each line with its rank")("no-tag", "do not (the default)")(
        "timestamps", "begin each line with the time (RFC 3339)")(
        "json", "one JSON object for each line, as sinew run --output json");
}

std::set<int> parse_ranks(std::string_view text) {
    constexpr int most = most_ranks_of_job - 1;
    std::set<int> ranks;
    for (auto const& part : split(text, ',')) {
        auto const ends = split(part, '-');
        auto const first = parse_int(ends.front(), 0, most);
        auto const last = parse_int(ends.back(), 0, most);
        if (ends.size() > 2 || !first || !last || *last < *first)
            throw UsageError(sinew::text("--ranks ", text,
                                         " (must be ranks and ranges of them, such as 0,2-4)"));
        for (int rank = *first; rank <= *last; ++rank) ranks.insert(rank);
    }
    return ranks;
}

LogOptions log_options(po::variables_map const& values) {
    LogOptions options;
    if (values.count("ranks") != 0) options.ranks = parse_ranks(values["ranks"].as<std::string>());
    if (values.count("tail") != 0) {
        auto const given = values["tail"].as<std::string>();
        options.tail = parse_int(given, 0, 0x7fffffff);
        if (!options.tail)
            throw UsageError(text("--tail ", given, " (must be a whole number of lines from 0)"));
    }
    options.follow = values.count("follow") != 0;
    return options;
}

OutputPrinter::Options printer_options(po::variables_map const& values) {
    if (values.count("tag") != 0 && values.count("no-tag") != 0)
        throw UsageError("--tag and --no-tag (must be one of them)");
    return {.tag = values.count("tag") != 0,
            .timestamp = values.count("timestamps") != 0,
            .json = values.count("json") != 0,
            .folder = {},
            .screen = true,
            .one_place = false};
}

std::unique_ptr<JobSource> source_of(po::variables_map const& values) {
    return choose_job_source({.backend = values["backend"].as<std::string>(),
                              .kubernetes = cluster_options(values),
                              .service = service_options(values)});
}

std::vector<std::string> jobs_of(po::variables_map const& values) {
    if (values.count("job") == 0) return {};
    return values["job"].as<std::vector<std::string>>();
}

std::string job_of(po::variables_map const& values, char const* verb) {
    auto const jobs = jobs_of(values);
    if (jobs.size() == 1) return jobs.front();
    throw UsageError(text(jobs.empty() ? "no job is named" : "several jobs are named",
                          " (must be one: sinew ", verb, " JOB). sinew ps lists them"));
}

std::unique_ptr<JobHandle> find_job(JobSource& source, std::string const& job, char const* verb,
                                    std::ostream& err) {
    if (auto found = source.find(job)) return found;
    auto const running = source.list();
    std::vector<std::string_view> names, beginnings;
    for (auto const& each : running) {
        names.push_back(each.name);
        // The random part of a name is not what is mistyped.
        beginnings.push_back(std::string_view(each.name).substr(0, each.name.rfind('-')));
    }
    std::string like(nearest(job, names));
    if (auto const begins = nearest(job, beginnings); like.empty() && !begins.empty())
        for (auto const& name : names)
            if (like.empty() && name.starts_with(begins)) like = name;
    err << "sinew " << verb << ": no job " << job << " runs on " << source.name();
    if (!like.empty()) err << ". Did you mean " << like << "?\n";
    else err << ". sinew ps lists those that run\n";
    return nullptr;
}

}  // namespace sinew::launch
