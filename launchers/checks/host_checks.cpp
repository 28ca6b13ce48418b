// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "launchers/checks/check.hpp"
#include "launchers/checks/facts.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

using Outcome = Reach::Outcome;

bool is_reached(HostFacts const& host) { return host.reach.outcome == Outcome::reached; }

/// ssh's configuration may define host names that do not resolve.
bool is_known_to_ssh(HostFacts const& host) {
    return host.reach.outcome != Outcome::unresolved && host.reach.outcome != Outcome::no_ssh;
}

/// Collects the findings of `one`, which returns at most one for each host.
template <class One>
Findings findings_of_hosts(Facts const& facts, One const& one) {
    Findings findings;
    for (auto const& host : facts.hosts)
        if (auto finding = one(host)) {
            finding->host = host.host;
            findings.push_back(std::move(*finding));
        }
    return findings;
}

std::optional<Finding> names_of(HostFacts const& host) {
    auto const& forward = host.forward;
    if (forward.timed_out)
        return Finding{Severity::warning,
                       text("looking up the name got no answer in ", forward.took.count(), " ms"),
                       "a name server in /etc/resolv.conf does not answer",
                       "correct /etc/resolv.conf, or put the host into /etc/hosts"};
    if (forward.answers.empty() && is_known_to_ssh(host))
        return Finding{Severity::note, "the name has no address",
                       "only ssh's configuration knows it",
                       "nothing: agents dial this host, not the other way round"};
    if (forward.answers.empty())
        return Finding{Severity::error, "the name has no address",
                       "a typing error, or it is not in DNS",
                       "check the spelling, or put the host into /etc/hosts"};
    std::string const found =
        text(forward.answers.front(), " (", forward.took.count(),
             " ms; back: ", host.reverse.answers.empty() ? "no name" : host.reverse.answers.front(),
             ", ", host.reverse.took.count(), " ms)");
    if (host.reverse.timed_out || forward.took > std::chrono::seconds(1) ||
        host.reverse.took > std::chrono::seconds(1))
        return Finding{Severity::warning, found,
                       "name look-ups are slow, and sshd makes them at each login",
                       "put the hosts into /etc/hosts, or set UseDNS no in sshd_config there"};
    return fine(found);
}

struct Advice {
    Outcome outcome;
    std::string_view found, cause, remedy;
};

constexpr std::array advices{
    Advice{Outcome::no_ssh, "there is no ssh here", "the client is not installed",
           "apt-get install openssh-client, or name another way by --launch-agent"},
    Advice{Outcome::unresolved, "ssh does not know this host",
           "a typing error in the name, or it is not in DNS",
           "check the spelling, or put the host into /etc/hosts or ssh's configuration"},
    Advice{Outcome::refused, "the connection was refused",
           "the host is up, but no sshd listens there",
           "start sshd, or name its port in ssh's configuration (Host, Port)"},
    Advice{Outcome::unreachable, "there is no route to the host",
           "it is down, or in another network",
           "check that it is up, and `ip route get` its address"},
    Advice{Outcome::timed_out, "no answer in time",
           "a firewall drops the packets, or the host is down",
           "open port 22 from here to there, or raise --timeout"},
    Advice{
        Outcome::host_key, "its host key was not accepted",
        "its key is not known here yet, or it was reinstalled",
        "ssh-keyscan it into ~/.ssh/known_hosts once you trust it (ssh-keygen -R removes the old)"},
    Advice{Outcome::denied, "it refused the login",
           "no key of ours is accepted there without a password",
           "ssh-copy-id to it, or load the key into ssh-agent"},
    Advice{Outcome::failed, "ssh failed", "see its message", "try `ssh -v` to it by hand"},
};

std::optional<Finding> reach_of(HostFacts const& host) {
    if (is_reached(host)) return fine("reached by ssh");
    auto const row = std::find_if(advices.begin(), advices.end(), [&](Advice const& advice) {
        return advice.outcome == host.reach.outcome;
    });
    std::string found(row->found);
    if (!host.reach.words.empty()) found += " (" + host.reach.words + ")";
    return Finding{Severity::error, found, std::string(row->cause), std::string(row->remedy)};
}

Findings names(Facts const& facts) { return findings_of_hosts(facts, names_of); }
Findings reaches(Facts const& facts) { return findings_of_hosts(facts, reach_of); }

Findings versions(Facts const& facts) {
    return findings_of_hosts(facts, [&](HostFacts const& host) -> std::optional<Finding> {
        if (!is_reached(host)) return std::nullopt;
        auto const& version = host.reach.sinew_version;
        if (version.empty())
            return Finding{
                Severity::error, "sinew is not found there",
                "it is not installed, or not in the PATH of shells without a terminal",
                "install it at the same path as here, or set PATH in ~/.bashrc before its "
                "test for interactive shells"};
        if (version == facts.own_version) return fine(text("sinew ", version));
        return Finding{Severity::error,
                       text("sinew ", version, " there, ", facts.own_version, " here"),
                       "one of them was not updated", "install the same version on all hosts"};
    });
}

std::optional<Finding> clock_of(HostFacts const& host) {
    if (!host.reach.clock_least || !host.reach.clock_most) return std::nullopt;
    double const least = *host.reach.clock_least, most = *host.reach.clock_most;
    std::array<char, 96> found{};
    // The answer was in transit for some time, so only a certain difference counts.
    if (least <= 0 && most >= 0)
        std::snprintf(found.data(), found.size(), "its clock agrees with ours within %.1f s",
                      std::max(-least, most));
    else
        std::snprintf(found.data(), found.size(), "its clock is %s ours by %.1f to %.1f s",
                      least > 0 ? "ahead of" : "behind", std::min(std::abs(least), std::abs(most)),
                      std::max(std::abs(least), std::abs(most)));
    double const certain = std::max({0.0, least, -most});
    if (certain < 1) return fine(found.data());
    return Finding{
        Severity::warning, found.data(), "no time synchronisation on one of the hosts",
        "start chrony or systemd-timesyncd there and here; logs are out of order until then"};
}

Findings clocks(Facts const& facts) { return findings_of_hosts(facts, clock_of); }

constexpr std::array all_host_checks{
    Check{"names", "are the hosts' names known, and quickly", names},
    Check{"reach", "does ssh get there without a password", reaches},
    Check{"version", "is the same sinew there", versions},
    Check{"clock", "do the hosts agree on the time", clocks},
};

}  // namespace

std::span<Check const> host_checks() { return all_host_checks; }

}  // namespace sinew::launch
