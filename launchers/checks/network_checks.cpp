// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>

#include "launchers/checks/check.hpp"
#include "launchers/checks/facts.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

bool is_bridge(std::string const& name) {
    for (auto const* const prefix : {"docker", "virbr", "br-", "cni", "lxcbr", "lxdbr", "podman"})
        if (name.starts_with(prefix)) return true;
    return false;
}

Findings interfaces(Facts const& facts) {
    std::set<std::string> real, bridges;
    bool loopback = false;
    for (auto const& interface : facts.interfaces) {
        loopback |= interface.loopback;
        if (!interface.loopback)
            (is_bridge(interface.name) ? bridges : real).insert(interface.name);
    }
    auto const join = [](std::set<std::string> const& names) {
        std::string list;
        for (auto const& name : names) list += (list.empty() ? "" : ", ") + name;
        return list;
    };
    Findings findings;
    if (!loopback)
        findings.push_back({Severity::error, "the loopback interface is down",
                            "a network namespace that was made by hand", "ip link set lo up"});
    if (real.empty())
        findings.push_back({facts.hosts.empty() ? Severity::note : Severity::error,
                            "no network besides loopback",
                            "a container or machine without network; jobs on this host still run",
                            "give it a network before it takes part in jobs on several hosts"});
    if (!bridges.empty())
        findings.push_back({Severity::note,
                            text("bridges of virtual machines or containers: ", join(bridges)),
                            "Docker or libvirt; Open MPI would try them between hosts, and hang",
                            "nothing: sinew names the right interface to Open MPI and NCCL"});
    if (!real.empty()) findings.push_back(fine("up: " + join(real)));
    return findings;
}

Findings own_name(Facts const& facts) {
    auto const& found = facts.own_addresses;
    if (found.timed_out)
        return {
            {Severity::error,
             text("looking up '", facts.own_name, "' got no answer in ", found.took.count(), " ms"),
             "the name server does not answer", text("put ", facts.own_name, " into /etc/hosts")}};
    if (found.answers.empty())
        return {{Severity::warning, text("this host's name '", facts.own_name, "' has no address"),
                 "it is neither in /etc/hosts nor known to the name server",
                 text("put ", facts.own_name, " into /etc/hosts")}};
    std::string const text_found =
        text(facts.own_name, " is ", found.answers.front(), " (", found.took.count(), " ms)");
    bool const only_local =
        std::all_of(found.answers.begin(), found.answers.end(),
                    [](auto const& one) { return one.starts_with("127.") || one == "::1"; });
    if (only_local && !facts.hosts.empty())
        return {{Severity::note, text_found, "/etc/hosts gives a loopback address, as Debian does",
                 "nothing for sinew, which does not use it; other launchers may need another"}};
    if (found.took > std::chrono::seconds(1))
        return {{Severity::warning, text_found, "a name server that is asked first does not answer",
                 "see /etc/resolv.conf, or put the name into /etc/hosts"}};
    return {fine(text_found)};
}

Findings congestion_control(Facts const& facts) {
    auto const& name = facts.congestion_control;
    if (name != "reno")
        return {fine(text("TCP congestion control: ", name.empty() ? "unknown" : name))};
    return {{Severity::note, "TCP congestion control: reno",
             "an old or minimal kernel: slow to recover on fast or long links",
             "modprobe tcp_cubic; sysctl net.ipv4.tcp_congestion_control=cubic"}};
}

constexpr std::array all_network_checks{
    Check{"interfaces", "which networks are up", interfaces},
    Check{"own name", "does this host's name have an address", own_name},
    Check{"congestion", "is TCP fit for fast links", congestion_control},
};

}  // namespace

std::span<Check const> network_checks() { return all_network_checks; }

}  // namespace sinew::launch
