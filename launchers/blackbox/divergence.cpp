// SPDX-License-Identifier: Apache-2.0
#include "launchers/blackbox/divergence.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace sinew::launch {

namespace {

using Outcome = CommunicatorFindings::Kind;
/// The records of one communicator by rank.
using Members = std::map<int, RecordedCommunicator const*>;

RecordedOperation const* find(RecordedCommunicator const& of, std::uint64_t sequence) {
    auto const found = std::lower_bound(
        of.operations.begin(), of.operations.end(), sequence,
        [](RecordedOperation const& one, std::uint64_t number) { return one.sequence < number; });
    return found != of.operations.end() && found->sequence == sequence ? &*found : nullptr;
}

/// The ranks by the call that they made as number `sequence`, the largest group first.
std::vector<RankGroup> calls_at(Members const& members, std::uint64_t sequence) {
    std::vector<RankGroup> groups;
    for (auto const& [rank, record] : members) {
        auto const* const operation = find(*record, sequence);
        if (operation == nullptr) continue;
        auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](auto const& one) { return one.call == operation->call; });
        if (group == groups.end()) group = groups.insert(group, {{}, operation->call});
        group->ranks.push_back(rank);
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](auto const& a, auto const& b) { return a.ranks.size() > b.ranks.size(); });
    return groups;
}

std::optional<std::int64_t> first_entered(Members const& members, RankGroup const& group,
                                          std::uint64_t sequence) {
    std::optional<std::int64_t> first;
    for (int const rank : group.ranks)
        if (auto const* const operation = find(*members.at(rank), sequence))
            if (operation->entered && (!first || *operation->entered < *first))
                first = operation->entered;
    return first;
}

void find_disagreement(Members const& members, CommunicatorFindings& findings) {
    std::uint64_t first = 1, last = 0;
    for (auto const& [rank, record] : members) {
        if (record->operations.empty()) continue;
        // Before the latest beginning at least one rank has nothing to compare.
        if (record->operations.front().sequence > 1) findings.compared_all = false;
        first = std::max(first, record->operations.front().sequence);
        last = std::max(last, record->operations.back().sequence);
    }
    for (auto sequence = first; sequence <= last; ++sequence) {
        auto groups = calls_at(members, sequence);
        if (groups.size() < 2) continue;
        findings.kind = Outcome::disagree;
        findings.sequence = sequence;
        findings.with = std::move(groups.front());
        findings.others.assign(std::make_move_iterator(groups.begin() + 1),
                               std::make_move_iterator(groups.end()));
        return;
    }
}

void find_place(Members const& members, CommunicatorFindings& findings) {
    std::uint64_t last = 0;
    for (auto const& [rank, record] : members) last = std::max(last, record->entered);
    findings.sequence = last;
    bool all_inside = last > 0;
    std::map<std::pair<std::uint64_t, bool>, RankGroup> behind;
    for (auto const& [rank, record] : members) {
        auto const* const operation = find(*record, record->entered);
        std::string const call = operation != nullptr ? operation->call : std::string();
        all_inside = all_inside && record->entered == last && record->inside;
        RankGroup& group =
            record->entered == last ? findings.with : behind[{record->entered, record->inside}];
        group.ranks.push_back(rank);
        group.call = call;
    }
    for (auto& [place, group] : behind)
        findings.behind.push_back({std::move(group), place.first, place.second});
    findings.kind = !findings.behind.empty() ? Outcome::behind
                    : all_inside             ? Outcome::stuck
                                             : Outcome::agree;
}

CommunicatorFindings compare(std::string const& name, Members const& members) {
    CommunicatorFindings findings;
    findings.name = name;
    findings.hosts = members.begin()->second->hosts;
    for (int rank = 0; rank < static_cast<int>(findings.hosts.size()); ++rank)
        if (!members.contains(rank)) findings.unknown.push_back(rank);
    find_disagreement(members, findings);
    if (findings.kind == Outcome::agree) find_place(members, findings);
    findings.since = first_entered(members, findings.with, findings.sequence);
    return findings;
}

}  // namespace

std::vector<CommunicatorFindings> compare_black_boxes(std::vector<BlackBoxFile> const& files) {
    // Ranks that are threads of one process are in one file.
    std::map<std::pair<std::string, std::size_t>, Members> communicators;
    for (auto const& file : files)
        for (auto const& one : file.communicators)
            communicators[{one.name, one.hosts.size()}][one.rank] = &one;
    std::vector<CommunicatorFindings> all;
    for (auto const& [key, members] : communicators) all.push_back(compare(key.first, members));
    auto const order = [](CommunicatorFindings const& one) {
        return std::pair(one.kind == Outcome::agree,
                         one.since.value_or(std::numeric_limits<std::int64_t>::max()));
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](auto const& a, auto const& b) { return order(a) < order(b); });
    return all;
}

}  // namespace sinew::launch
