// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "launchers/verbs/log_printer.hpp"
#include "launchers/verbs/verb_options.hpp"
#include "launchers/verbs/verbs.hpp"

namespace sinew::launch {
namespace {

namespace po = boost::program_options;

constexpr char logs_usage[] =
    "sinew logs JOB [flags]: shows the last output of a job that runs\n\n"
    "  sinew logs train-x7k2p      what is kept: the last MiB, see sinew run --log-buffer\n"
    "  sinew logs train            the beginning of the name is enough\n"
    "  sinew logs train -f --tail 20\n"
    "                              the last 20 lines and all that follow, until the job ends\n"
    "  sinew logs train -r 0,2-4 --tag --timestamps\n\n"
    "The job is never delayed by a slow reader, which misses output instead: a line says\n"
    "how much. exit code: 0, 1 without such a job, 125 if the job cannot be asked\n\n";

}  // namespace

int logs_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err) {
    auto flags = verb_flags();
    flags.add_options()("follow,f", "go on until the job ends");
    add_log_flags(flags);
    auto all = flags;
    all.add_options()("job", po::value<std::vector<std::string>>());
    auto const values = parse_small(arguments, all, "logs", "job");
    if (values.count("help") != 0) {
        out << logs_usage << flags;
        return 0;
    }
    auto const options = log_options(values);
    LogPrinter printer(printer_options(values));
    auto const source = source_of(values);
    auto const job = find_job(*source, job_of(values, "logs"), "logs", err);
    if (!job) return 1;
    job->logs(options, printer);
    return 0;
}

}  // namespace sinew::launch
