// SPDX-License-Identifier: Apache-2.0
//
// The configuration and the environment of a pod with any contents are refused with UsageError,
// which does not quote the configuration, or give values that are safe to use.
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sinew/error.hpp>

#include "launchers/pods/pod_config.hpp"
#include "launchers/pods/pod_identity.hpp"

namespace {

using namespace sinew::launch;

void expect(bool holds) {
    if (!holds) std::abort();
}

bool is_safe(std::string_view name) {
    return name.find_first_of(std::string_view("/\n\0", 3)) == name.npos;
}

void config(std::string_view line) {
    try {
        auto const config = parse_pod_config(line);
        expect(is_pod_config(line));
        expect(!config.job.empty() && config.job.size() <= 63 && is_safe(config.job));
        expect(config.secret.size() == 64);
        expect(config.nodes >= 1 && config.port >= 1 && !config.run.empty());
        expect(config.root_patience.count() > 0);
    } catch (sinew::UsageError const&) {}
}

// The first byte selects who takes the rest.
void identity(std::string_view words) {
    std::map<std::string, std::string> variables{{"JOB_COMPLETION_INDEX", "3"}};
    static constexpr char const* names[] = {"SINEW_ROOT", "SINEW_POD_NAME", "SINEW_POD_NODE",
                                            "SINEW_PLACE_ZONE", "JOB_COMPLETION_INDEX"};
    for (std::size_t i = 0; i < std::size(names); ++i) {
        auto const end = words.find('\n');
        if (!words.empty()) variables[names[i]] = words.substr(0, end);
        words = end == words.npos ? std::string_view() : words.substr(end + 1);
    }
    try {
        auto const identity = pod_identity(variables, "host");
        expect(identity.index >= 0 && identity.index < 100'000);
        expect(identity.index == 0 || !identity.roots.empty());
        expect(identity.name.ends_with(std::to_string(identity.index)));
        expect(identity.name_of(identity.index) == identity.name);
        expect(is_safe(identity.place.zone) && is_safe(identity.place.machine));
    } catch (sinew::UsageError const&) {}
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const all(reinterpret_cast<char const*>(data), size);
    if (all.empty()) return 0;
    if (all.front() % 2 == 0) config(all.substr(1));
    else identity(all.substr(1));
    return 0;
}
