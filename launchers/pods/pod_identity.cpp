// SPDX-License-Identifier: Apache-2.0
#include "launchers/pods/pod_identity.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sinew/error.hpp>
#include <string_view>

#include "launchers/agent/place.hpp"
#include "launchers/command_line/values.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/wire/socket/address.hpp"

namespace sinew::launch {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr int most_pods = 100'000;
constexpr std::size_t longest_machine = 253;  // of a name in Kubernetes

constexpr std::array<char const*, 11> names{
    "JOB_COMPLETION_INDEX", "SINEW_ROOT",       "SINEW_POD_NAME",           "SINEW_POD_IP",
    "SINEW_POD_NODE",       "SINEW_PLACE",      "SINEW_PLACE_REGION",       "SINEW_PLACE_ZONE",
    "SINEW_PLACE_BLOCK",    "SINEW_PLACE_RACK", "SINEW_POD_TERMINATION_LOG"};

std::string value(Variables const& variables, char const* name) {
    auto const found = variables.find(name);
    return found == variables.end() ? "" : found->second;
}

int index_of(Variables const& variables) {
    constexpr char const* name = "JOB_COMPLETION_INDEX";
    if (!variables.contains(name))
        throw UsageError(text(name,
                              " is not set (Kubernetes sets it in the pods of an Indexed "
                              "Job). Is the Job's completionMode Indexed?"));
    if (auto const index = parse_int(value(variables, name), 0, most_pods - 1)) return *index;
    throw UsageError(text(name, "=", value(variables, name), " (must be a number from 0 to ",
                          most_pods - 1, ")"));
}

// A pod's name is that of its Job, its index, and random characters: "train-3-x7k2p".
std::string stable_name(std::string pod, std::string const& host, int index) {
    auto const number = text("-", index);
    if (pod.empty()) pod = host;
    if (pod.ends_with(number)) return pod;
    auto const last = pod.rfind('-');
    if (last != pod.npos && std::string_view(pod).substr(0, last).ends_with(number))
        return pod.substr(0, last);
    return pod + number;
}

std::vector<std::string> roots_of(Variables const& variables) {
    std::vector<std::string> found;
    for (auto const& root : split(value(variables, "SINEW_ROOT"), ',')) {
        if (trim(root).empty()) continue;
        try {
            found.push_back(wire::Address::parse(text("tcp:", trim(root))).text());
        } catch (UsageError const&) {
            throw UsageError(text("SINEW_ROOT=", value(variables, "SINEW_ROOT"), " (", root,
                                  " must be an address and a port: 10.96.0.7:7077)"));
        }
    }
    return found;
}

bool is_machine(std::string_view words) {
    return words.size() <= longest_machine &&
           std::all_of(words.begin(), words.end(), [](unsigned char c) {
               return c < 0x80 && (std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_');
           });
}

// A wrong place affects only the order of the ranks, and must not fail the job.
Place place_of(Variables const& variables) {
    Place place;
    auto words = value(variables, "SINEW_PLACE");
    std::string origin = "SINEW_PLACE";
    if (words.empty()) {
        origin = "SINEW_PLACE_REGION/ZONE/BLOCK/RACK";
        words = text(
            value(variables, "SINEW_PLACE_REGION"), "/", value(variables, "SINEW_PLACE_ZONE"), "/",
            value(variables, "SINEW_PLACE_BLOCK"), "/", value(variables, "SINEW_PLACE_RACK"));
    }
    try {
        place = parse_place(words, origin);
    } catch (UsageError const& problem) {
        log_warning(text("the place of this pod is not known: ", problem.what()));
    }
    auto const machine = value(variables, "SINEW_POD_NODE");
    if (is_machine(machine)) place.machine = machine;
    else log_warning("SINEW_POD_NODE is not a name of a machine (letters, digits and ._-)");
    return place;
}

}  // namespace

std::string PodIdentity::name_of(int other) const { return text(job(), "-", other); }

PodIdentity pod_identity(Variables const& variables, std::string const& host_name) {
    int const index = index_of(variables);
    PodIdentity identity{.index = index,
                         .name = stable_name(value(variables, "SINEW_POD_NAME"), host_name, index),
                         .address = value(variables, "SINEW_POD_IP"),
                         .place = place_of(variables),
                         .roots = roots_of(variables),
                         .termination_log = value(variables, "SINEW_POD_TERMINATION_LOG")};
    if (index > 0 && identity.roots.empty())
        throw UsageError(
            "SINEW_ROOT is not set (the address of the job's root was expected, such "
            "as 10.96.0.7:7077)");
    if (identity.termination_log.empty()) identity.termination_log = "/dev/termination-log";
    return identity;
}

Place place_in_file(std::string const& config_path, std::string const& machine) {
    auto const path = std::filesystem::path(config_path).parent_path() / "places";
    std::ifstream file(path);
    Place place;
    for (std::string line; !machine.empty() && std::getline(file, line);) {
        if (!line.starts_with(machine + " ")) continue;
        try {
            place = parse_place(std::string_view(line).substr(machine.size()), path.string());
        } catch (UsageError const& problem) {
            log_warning(text("the place of ", machine, " is not known: ", problem.what()));
        }
        break;
    }
    place.machine = machine;
    return place;
}

void drop_pod_variables() {
    // Nodes::acquire in a rank makes pods like this one, whose name is not that of its host.
    for (std::string_view const name : names)
        if (name != "SINEW_POD_NAME") ::unsetenv(name.data());
}

}  // namespace sinew::launch
