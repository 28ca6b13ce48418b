// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::launch {

struct Facts;

enum class Severity : std::uint8_t {
    ok,
    note,     ///< good to know
    warning,  ///< will be slow, or fail at scale
    error,    ///< jobs fail
};
std::string_view name(Severity severity);

/// One thing that was looked at. All but `ok` have one likely cause and one remedy.
struct Finding {
    Severity severity = Severity::ok;
    std::string found;  ///< with the value
    std::string cause, remedy;
    std::string host;  ///< the one asked; empty: this one
};
using Findings = std::vector<Finding>;

/// A row of `sinew doctor`. Pure: looks at facts only.
struct Check {
    std::string_view name;
    std::string_view asks;  ///< the question it answers
    Findings (*run)(Facts const&);
};

/// All of them, in the order shown: machine, software, network, hosts.
std::vector<Check> checks();
std::span<Check const> machine_checks();
std::span<Check const> software_checks();
std::span<Check const> network_checks();
std::span<Check const> host_checks();

/// What of this node makes every program of an MPI fail (no shared memory, no loopback), with the
/// remedy; empty where there is nothing. Asks the kernel alone, and takes no time.
std::string local_faults();

inline Finding fine(std::string found) { return {Severity::ok, std::move(found), {}, {}, {}}; }

/// "64 MiB", "1.5 GiB".
std::string bytes_text(double bytes);

}  // namespace sinew::launch
