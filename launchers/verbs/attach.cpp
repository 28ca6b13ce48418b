// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <csignal>
#include <ostream>

#include "launchers/verbs/log_printer.hpp"
#include "launchers/verbs/verb_options.hpp"
#include "launchers/verbs/verbs.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

namespace po = boost::program_options;

constexpr char attach_usage[] =
    "sinew attach JOB [flags]: shows the output of a job until it ends\n\n"
    "  sinew attach train-x7k2p    what is kept, and all that follows\n"
    "  sinew attach train --tail 0 only what follows\n\n"
    "Ctrl-C detaches (exit code 130): the job runs on. Otherwise the exit code is that of\n"
    "the job, as sinew run returns it; 1 also if there is no such job, 125 if its sinew run\n"
    "was killed.\n\n";

// Of the handler, which may do no more than write it.
std::string farewell;

extern "C" void detach(int) {
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, farewell.data(), farewell.size());
    ::_exit(128 + SIGINT);
}

}  // namespace

int attach_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err) {
    auto flags = verb_flags();
    add_log_flags(flags);
    auto all = flags;
    all.add_options()("job", po::value<std::vector<std::string>>());
    auto const values = parse_small(arguments, all, "attach", "job");
    if (values.count("help") != 0) {
        out << attach_usage << flags;
        return 0;
    }
    auto const options = log_options(values);
    LogPrinter printer(printer_options(values));
    auto const source = source_of(values);
    auto const name = job_of(values, "attach");
    auto const job = find_job(*source, name, "attach", err);
    if (!job) return 1;
    farewell = text("\nsinew attach: detached from ", name, ", which runs on. sinew stop ", name,
                    " ends it\n");
    ::signal(SIGINT, detach);
    auto const end = job->attach(options, printer);
    ::signal(SIGINT, SIG_DFL);
    if (!end.cause.empty())
        printer.report((end.cause.starts_with("sinew run") ? "" : "sinew: ") + end.cause);
    return end.exit_code;
}

}  // namespace sinew::launch
