// SPDX-License-Identifier: Apache-2.0
//
// Hostfiles, configuration files and command lines with any contents are refused with UsageError,
// or give hosts that are safe as words of a command, and a map that fits on them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/error.hpp>

#include "launchers/command_line/config.hpp"
#include "launchers/command_line/hosts/hostfile.hpp"
#include "launchers/command_line/parse.hpp"
#include "launchers/command_line/values.hpp"
#include "launchers/map/mapping.hpp"

namespace {

using namespace sinew::launch;

void expect(bool holds) {
    if (!holds) std::abort();
}

void check(std::vector<HostRequest> const& hosts) {
    for (HostRequest const& host : hosts) {
        expect(!host.host.empty() && host.host.front() != '-');
        expect(host.host.find_first_of(" \t\n'\"\\$;&|<>`()*?[]{}#!,=") == std::string::npos);
        expect(host.slots >= 0 && host.slots <= 1'000'000);
        expect(host.max_slots == 0 || host.max_slots >= host.slots);
    }
}

void map(RunOptions const& options) {
    std::vector<Node> nodes = requested_nodes(options, "here");
    for (Node& node : nodes) node.cores = 2;
    // A map of a million ranks is valid, but slow to fuzz.
    for (Node const& node : nodes)
        if (node.slots > 1000) return;
    for (App const& app : options.apps)
        if (app.ranks > 1000) return;
    JobMap const made = make_map(options, nodes);
    expect(made.size() > 0 && made.nodes.size() <= nodes.size());
}

void hostfile(std::string_view input) {
    RunOptions options;
    options.apps = {{{"program"}, 0, "", {}}};
    options.hosts = parse_hostfile(input, "hosts");
    check(options.hosts);
    if (!options.hosts.empty()) map(options);
}

void config(std::string_view input) {
    for (Setting const& setting : parse_config(input, "config")) {
        expect(!setting.key.empty() && setting.value.find('\n') == std::string::npos);
        expect(setting.origin.rfind("config:", 0) == 0);
        for (Setting const& part : expand(setting)) expect(!part.key.empty());
    }
}

/// One word per line; words that could name a file of this machine are skipped.
void command_line(std::string_view input) {
    if (input.find('/') != std::string_view::npos) return;
    ProcessContext around;
    around.folder = "/nonexistent";
    around.variables = {{"A", "1"}, {"B", "2"}};
    RunOptions const options = parse_run(split(input, '\n'), around);
    check(options.hosts);
    if (options.help || options.version) return;
    expect(!options.apps.empty());
    for (App const& app : options.apps) expect(!app.argv.empty() && app.ranks >= 0);
    if (options.fake_nodes <= 1000) map(options);
}

}  // namespace

/// The first byte selects the parser.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view const input(reinterpret_cast<char const*>(data) + 1, size - 1);
    try {
        switch (data[0] % 4) {
            case 0:
                hostfile(input);
                break;
            case 1:
                config(input);
                break;
            case 2:
                check(parse_host_list(input, "-H"));
                break;
            default:
                command_line(input);
                break;
        }
    } catch (sinew::UsageError const&) {}
    return 0;
}
