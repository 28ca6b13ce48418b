// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <set>
#include <sinew/error.hpp>

#include "benchmarks/collectives/results/row.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

using File = std::vector<Row>;

std::set<std::string> peers_of(File const& file) {
    std::set<std::string> names;
    for (Row const& row : file)
        for (PeerResult const& peer : row.peers) names.insert(peer.name);
    return names;
}

bool same_call(Row const& a, Row const& b) {
    return a.collective == b.collective && a.bytes == b.bytes && a.ranks == b.ranks &&
           a.dtype == b.dtype && a.op == b.op && a.variant == b.variant;
}

/// Finds the row of `file` for the same call, with the same algorithm of sinew if there is one.
/// (The tuner may choose another algorithm over another MPI, which does not affect the peer.)
Row const* find(File const& file, Row const& wanted) {
    Row const* found = nullptr;
    for (Row const& row : file) {
        if (!same_call(row, wanted)) continue;
        if (row.algorithm == wanted.algorithm) return &row;
        if (found == nullptr) found = &row;
    }
    return found;
}

double median_of(std::vector<Row const*> const& rows,
                 std::function<double(Row const&)> const& field) {
    std::vector<double> values;
    for (Row const* row : rows) values.push_back(field(*row));
    return median(values);
}

/// Files that are repetitions of one run.
struct Group {
    std::set<std::string> peers;
    std::vector<File> files;
};

std::vector<Group> group(std::vector<File> const& files) {
    std::vector<Group> groups;
    for (File const& file : files) {
        auto const names = peers_of(file);
        auto const same = [&](Group const& candidate) { return candidate.peers == names; };
        auto const found = std::find_if(groups.begin(), groups.end(), same);
        if (found != groups.end()) found->files.push_back(file);
        else groups.push_back({names, {file}});
    }
    return groups;
}

std::vector<Row const*> repetitions(Group const& group, Row const& row) {
    std::vector<Row const*> found;
    for (File const& file : group.files)
        if (Row const* const match = find(file, row)) found.push_back(match);
    return found;
}

PeerResult const* peer_in(Row const& row, std::string const& name) {
    auto const is = [&](PeerResult const& peer) { return peer.name == name; };
    auto const found = std::find_if(row.peers.begin(), row.peers.end(), is);
    return found == row.peers.end() ? nullptr : &*found;
}

/// Combines a peer's repetitions and compares them with sinew's repetitions in our run.
std::optional<PeerResult> combined_peer(std::string const& name,
                                        std::vector<Row const*> const& theirs,
                                        std::vector<Row const*> const& ours) {
    std::vector<double> p10, p50, p90, ratio, fraction;
    for (std::size_t i = 0; i < theirs.size(); ++i) {
        PeerResult const* const peer = peer_in(*theirs[i], name);
        if (peer == nullptr) continue;
        p10.push_back(peer->us.p10);
        p50.push_back(peer->us.p50);
        p90.push_back(peer->us.p90);
        if (peer->fraction_of_link) fraction.push_back(*peer->fraction_of_link);
        // Within one launch, the ratio of its own rounds is more accurate.
        Row const* const beside = ours[std::min(i, ours.size() - 1)];
        ratio.push_back(beside == theirs[i] ? peer->ratio : peer->us.p50 / beside->us.p50);
    }
    if (p50.empty()) return {};
    PeerResult result{name, {median(p10), median(p50), median(p90)}, median(ratio)};
    if (!fraction.empty()) result.fraction_of_link = median(fraction);
    return result;
}

Row combined_row(Row row, std::vector<Group> const& groups) {
    auto const ours = repetitions(groups.front(), row);
    row.us = {median_of(ours, [](Row const& r) { return r.us.p10; }),
              median_of(ours, [](Row const& r) { return r.us.p50; }),
              median_of(ours, [](Row const& r) { return r.us.p90; })};
    row.algbw_gbs = median_of(ours, [](Row const& r) { return r.algbw_gbs; });
    row.busbw_gbs = median_of(ours, [](Row const& r) { return r.busbw_gbs; });
    if (row.fraction_of_link)
        row.fraction_of_link =
            median_of(ours, [](Row const& r) { return r.fraction_of_link.value_or(0); });
    row.peers.clear();
    row.by_state.clear();
    for (Group const& group : groups) {
        auto const theirs = repetitions(group, row);
        for (Row const* other : theirs) {
            if (other->state != row.state) row.state = "mixed";
            if (other->wrong.value_or(0) > 0) row.wrong = other->wrong;
        }
        for (std::string const& name : group.peers) {
            auto const peer = combined_peer(name, theirs, ours);
            if (peer && peer_in(row, name) == nullptr) row.peers.push_back(*peer);
        }
    }
    return row;
}

}  // namespace

RunInfo merge(std::vector<RunInfo> const& runs) {
    if (runs.empty()) return {};
    RunInfo merged = runs.front();
    std::vector<std::string> libraries;
    for (RunInfo const& run : runs)
        if (!run.mpi.empty() &&
            std::find(libraries.begin(), libraries.end(), run.mpi) == libraries.end())
            libraries.push_back(run.mpi);
    merged.mpi = join(libraries, " and ");
    return merged;
}

std::vector<Row> merge(std::vector<std::vector<Row>> const& files) {
    if (files.empty()) throw UsageError("nothing to merge (no files). Give at least two");
    auto const groups = group(files);
    std::vector<Row> merged;
    for (Row const& row : files.front()) merged.push_back(combined_row(row, groups));
    return merged;
}

}  // namespace sinew::bench
