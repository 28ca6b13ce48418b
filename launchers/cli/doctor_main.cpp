// SPDX-License-Identifier: Apache-2.0
#include <ostream>
#include <set>
#include <sinew/error.hpp>

#include "launchers/blackbox/report.hpp"
#include "launchers/checks/facts.hpp"
#include "launchers/cli/doctor.hpp"
#include "launchers/cli/small_options.hpp"
#include "launchers/command_line/hosts/hostfile.hpp"
#include "launchers/common/exit_codes.hpp"
#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace po = boost::program_options;

namespace {

po::options_description flags() {
    po::options_description all("flags");
    all.add_options()("help,h", "this text")("json", "machine-readable output")(
        "hostfile", po::value<std::string>()->value_name("FILE"),
        "also ask these hosts (as for sinew run)")(
        "host,H", po::value<std::vector<std::string>>()->composing()->value_name("HOST,..."),
        "also ask these")("timeout",
                          po::value<std::string>()->default_value("5s")->value_name("TIME"),
                          "for each question")(
        "blackbox", po::value<std::string>()->value_name("DIR"),
        "compare the black boxes of a job's ranks instead: which one diverged first");
    return all;
}

/// Returns each host once, in the order given.
std::vector<std::string> hosts_of(po::variables_map const& values) {
    std::vector<HostRequest> requests;
    if (values.count("hostfile") != 0)
        requests = read_hostfile(values["hostfile"].as<std::string>());
    if (values.count("host") != 0)
        for (auto const& list : values["host"].as<std::vector<std::string>>())
            for (auto& request : parse_host_list(list, "-H " + list))
                requests.push_back(std::move(request));
    std::vector<std::string> hosts;
    std::set<std::string> seen;
    for (auto const& request : requests)
        if (seen.insert(request.host).second) hosts.push_back(request.host);
    return hosts;
}

GatherOptions options_of(po::variables_map const& values) {
    GatherOptions options;
    options.hosts = hosts_of(values);
    std::string const given = values["timeout"].as<std::string>();
    auto const timeout = parse_duration(given);
    if (!timeout || *timeout < std::chrono::milliseconds(100))
        throw UsageError(text("--timeout ", given,
                              " (must be a time of at least 100ms, such as 5s or 1min). Leave it "
                              "out for the default, 5s"));
    options.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(*timeout);
    return options;
}

int compare_ranks(po::variables_map const& values, std::ostream& out) {
    for (char const* const other : {"hostfile", "host"})
        if (values.count(other) != 0)
            throw UsageError(text("--blackbox reads files, --", other, " asks hosts: give one"));
    auto const files = read_black_boxes(values["blackbox"].as<std::string>());
    auto const findings = compare_black_boxes(files);
    if (values.count("json") != 0) write_json(files, findings, out);
    else write_text(files, findings, out);
    return has_divergence(findings) ? 1 : 0;
}

}  // namespace

int doctor_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err) {
    try {
        auto const values = parse_small(arguments, flags(), "doctor");
        if (values.count("help") != 0) {
            out << "sinew doctor [flags]: looks for causes of failing or slow jobs, here and on "
                   "other hosts\n"
                << flags()
                << "\nA program that runs with SINEW_BLACKBOX=DIR writes the last collectives of "
                   "each rank\nto DIR/rank-N.json when one fails, on SIGUSR2 and on SIGTERM.\n"
                   "\nexit code: 0 without errors (or differences between black boxes), 1 with "
                   "some,\n2 for a wrong command line\n";
            return 0;
        }
        if (values.count("blackbox") != 0) return compare_ranks(values, out);
        auto const facts = gather(options_of(values));
        auto const diagnoses = diagnose(facts);
        if (values.count("json") != 0) write_json(diagnoses, facts, out);
        else write_text(diagnoses, facts, out);
        return has_errors(diagnoses) ? 1 : 0;
    } catch (UsageError const& error) {
        err << "sinew doctor: " << error.what() << '\n';
        return exit_usage;
    }
}

}  // namespace sinew::launch
