// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <ostream>
#include <string>
#include <vector>

#include "launchers/verbs/log_printer.hpp"
#include "launchers/verbs/verb_options.hpp"
#include "launchers/verbs/verbs.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr char ps_usage[] =
    "sinew ps [flags]: lists the jobs that run\n\n"
    "  sinew ps                    yours that were started on this host\n"
    "  sinew ps --backend ssh      those of them that run on other hosts\n"
    "  sinew ps --at HOST          queue and jobs of the sinew serve of HOST\n"
    "  sinew ps --json             all that is known, with every rank's node and pid\n\n"
    "NAME is what sinew logs, attach and stop take; its beginning is enough. RANKS are\n"
    "those that run, of all. STATE is starting, running, restarting or finishing; stopped\n"
    "if a signal has stopped sinew run, silent if it does not answer. Of a sinew serve, jobs\n"
    "are waiting, starting or running; GPUS are those that they have, or how many they wait\n"
    "for, and MEMORY what their processes have in memory.\n\n";

using Row = std::vector<std::string>;

std::string age(std::chrono::system_clock::duration since) {
    auto const seconds =
        std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(since).count());
    if (seconds < 120) return text(seconds, "s");
    if (seconds < 7200) return text(seconds / 60, "m", seconds % 60, "s");
    if (seconds < 48 * 3600) return text(seconds / 3600, "h", seconds / 60 % 60, "m");
    return text(seconds / 86400, "d", seconds / 3600 % 24, "h");
}

/// Control characters would act on the terminal.
std::string printable(std::string words) {
    constexpr std::size_t longest = 60;
    for (char& c : words)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    if (words.size() > longest) words = words.substr(0, longest - 3) + "...";
    return words;
}

Row row_of(JobSummary const& job) {
    if (job.command.empty())  // it could not be asked
        return {printable(job.name), printable(job.state), "-", "-", "-", "-", "-"};
    return {printable(job.name),
            printable(job.state),
            text(job.ranks_running, "/", job.ranks),
            text(job.nodes),
            printable(job.backend),
            age(std::chrono::system_clock::now() - job.started),
            printable(job.command)};
}

Row row_of_service(JobSummary const& job) {
    auto const& about = *job.service;
    bool const waits = about.gpus.empty();
    return {printable(job.name),
            job.id,
            printable(job.state),
            printable(about.owner),
            waits ? (about.gpus_wanted == 0 ? "-" : text(about.gpus_wanted, " wanted"))
                  : printable(about.gpus),
            about.memory == 0 ? "-" : in_units(about.memory),
            text(about.priority),
            age(std::chrono::system_clock::now() - job.started),
            printable(job.command)};
}

void write_table(std::vector<JobSummary> const& jobs, std::ostream& out) {
    bool const of_service = !jobs.empty() && jobs.front().service;
    std::vector<Row> rows{
        of_service
            ? Row{"NAME", "ID", "STATE", "OWNER", "GPUS", "MEMORY", "PRIORITY", "AGE", "COMMAND"}
            : Row{"NAME", "STATE", "RANKS", "NODES", "BACKEND", "AGE", "COMMAND"}};
    for (auto const& job : jobs) rows.push_back(job.service ? row_of_service(job) : row_of(job));
    std::vector<std::size_t> widths(rows.front().size());
    for (auto const& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    for (auto const& row : rows) {
        for (std::size_t i = 0; i + 1 < row.size(); ++i)
            out << row[i] << std::string(widths[i] - row[i].size() + 2, ' ');
        out << row.back() << '\n';
    }
}

}  // namespace

int ps_main(std::vector<std::string> const& arguments, std::ostream& out) {
    auto flags = verb_flags();
    flags.add_options()("json", "machine-readable output");
    auto const values = parse_small(arguments, flags, "ps");
    if (values.count("help") != 0) {
        out << ps_usage << flags;
        return 0;
    }
    auto const jobs = source_of(values)->list();
    if (values.count("json") != 0) out << to_json(jobs) << '\n';
    else write_table(jobs, out);
    return 0;
}

}  // namespace sinew::launch
