// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/cli/small_options.hpp"
#include "launchers/verbs/job_source.hpp"

namespace sinew::launch {

/// Flags of all verbs: --help, --backend.
boost::program_options::options_description verb_flags();
/// Adds those of logs and attach: which ranks, how many lines, how they are shown.
void add_log_flags(boost::program_options::options_description& flags);

/// "0,2-4". Throws UsageError naming the text.
std::set<int> parse_ranks(std::string_view text);
LogOptions log_options(boost::program_options::variables_map const& values);
OutputPrinter::Options printer_options(boost::program_options::variables_map const& values);

/// The source that --backend names.
std::unique_ptr<JobSource> source_of(boost::program_options::variables_map const& values);
/// The words that are no flags.
std::vector<std::string> jobs_of(boost::program_options::variables_map const& values);
/// The only one of them. Throws UsageError if there are none or several.
std::string job_of(boost::program_options::variables_map const& values, char const* verb);
/// Finds a job, or says on `err` that there is none, with names that are near, and returns null.
std::unique_ptr<JobHandle> find_job(JobSource& source, std::string const& job, char const* verb,
                                    std::ostream& err);

}  // namespace sinew::launch
