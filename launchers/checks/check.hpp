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
    note,     ///< information only
    warning,  ///< jobs will be slow, or fail at scale
    error,    ///< jobs fail
};
std::string_view name(Severity severity);

/// One result of a check. Every severity except `ok` has one likely cause and one remedy.
struct Finding {
    Severity severity = Severity::ok;
    std::string found{};  ///< what was found, with the value
    std::string cause{}, remedy{};
    std::string host{};  ///< the host that was checked; empty: this one
};
using Findings = std::vector<Finding>;

/// A row of `sinew doctor`. Checks only read facts and have no side effects.
struct Check {
    std::string_view name;
    std::string_view asks;  ///< the question that it answers
    Findings (*run)(Facts const&);
};

/// All checks, in the order of output: machine, software, network, hosts.
std::vector<Check> checks();
std::span<Check const> machine_checks();
std::span<Check const> software_checks();
std::span<Check const> network_checks();
std::span<Check const> host_checks();

/// Describes what makes every MPI program fail on this node (no shared memory, no loopback), with
/// the remedy; empty if there is nothing. It asks only the kernel, so it is fast.
std::string local_faults();

inline Finding fine(std::string found) { return {Severity::ok, std::move(found)}; }

/// Formats a size: "64 MiB", "1.5 GiB".
std::string bytes_text(double bytes);

}  // namespace sinew::launch
