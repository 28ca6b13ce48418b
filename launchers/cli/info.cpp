// SPDX-License-Identifier: Apache-2.0
#include "launchers/cli/info.hpp"

#include <ostream>
#include <sinew/error.hpp>

#include "launchers/backends/backend.hpp"
#include "launchers/cli/info_sections.hpp"
#include "launchers/cli/small_options.hpp"
#include "launchers/command_line/options.hpp"
#include "launchers/common/exit_codes.hpp"

namespace sinew::launch {

namespace po = boost::program_options;

namespace {

Section backends_section() {
    Section table = Section::array();
    RunOptions const nothing_asked;
    for (auto const& backend : backends()) {
        std::string const why_not = backend.unusable(nothing_asked);
        table.push_back({{"name", backend.name},
                         {"usable", why_not.empty()},
                         {"suits", backend.suits},
                         {"why not", why_not}});
    }
    return table;
}

Section report() {
    auto const machine = processors();
    return {{"sinew", build_section()},
            {"host", host_section(machine)},
            {"devices", devices_section()},
            {"GPUs", gpu_section()},
            {"ring order", ring_section(machine)},
            {"interfaces", interfaces_section()},
            {"limits", limits_section()},
            {"waiting", waiting_section()},
            {"backends", backends_section()},
            {"transports", transports_section()},
            {"algorithms", algorithms_section()}};
}

}  // namespace

int info_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err) {
    try {
        po::options_description flags("flags");
        flags.add_options()("help,h", "this text")("json", "machine-readable output");
        auto const values = parse_small(arguments, flags, "info");
        if (values.count("help") != 0) {
            out << "sinew info [flags]: what is built into this sinew, and the machine it runs on\n"
                << flags;
            return 0;
        }
        auto const all = report();
        if (values.count("json") != 0)
            out << all.dump(2, ' ', false, Section::error_handler_t::replace) << '\n';
        else out << as_text(all);
        return 0;
    } catch (UsageError const& error) {
        err << "sinew info: " << error.what() << '\n';
        return exit_usage;
    }
}

}  // namespace sinew::launch
