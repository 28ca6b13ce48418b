// SPDX-License-Identifier: Apache-2.0
#include "launchers/blackbox/report.hpp"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

using Outcome = CommunicatorFindings::Kind;

/// "rank 3 on node-b", "ranks 0-5, 7".
std::string ranks_text(std::vector<int> const& ranks, std::vector<std::string> const& hosts) {
    if (ranks.size() == 1)
        return text("rank ", ranks.front(), " on ", hosts[static_cast<std::size_t>(ranks.front())]);
    std::string words = "ranks ";
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        words += text(i > 0 ? ", " : "", ranks[i]);
        if (last > i) words += text('-', ranks[last]);
        i = last + 1;
    }
    return words;
}

std::string age(CommunicatorFindings const& one, std::vector<BlackBoxFile> const& files) {
    if (!one.since) return {};
    std::int64_t last = *one.since;
    for (auto const& file : files) last = std::max(last, file.written);
    std::ostringstream words;
    words << " for " << std::fixed << std::setprecision(1)
          << (static_cast<double>(last) - static_cast<double>(*one.since)) * 1e-9 << " s";
    return words.str();
}

void write_one(CommunicatorFindings const& one, std::vector<BlackBoxFile> const& files, bool first,
               std::ostream& out) {
    auto const ranks = [&](std::vector<int> const& all) { return ranks_text(all, one.hosts); };
    std::string const number = text(" #", one.sequence);
    out << one.name << " (" << one.hosts.size() << " ranks): ";
    switch (one.kind) {
        case Outcome::agree:
            out << (one.sequence == 0 ? "no collective yet"
                                      : text("no difference up to", number, ' ', one.with.call))
                << '\n';
            break;
        case Outcome::stuck:
            out << "all" << (one.unknown.empty() ? "" : " that are known") << " are in" << number
                << ' ' << one.with.call << age(one, files) << '\n';
            break;
        case Outcome::disagree:
            out << "not the same call as" << number
                << (first ? ", which is the first difference" : "") << '\n';
            out << "    " << ranks(one.with.ranks) << ": " << one.with.call << '\n';
            for (auto const& other : one.others)
                out << "    " << ranks(other.ranks) << ": " << other.call << '\n';
            break;
        case Outcome::behind:
            out << ranks(one.with.ranks) << " entered" << number << ' ' << one.with.call
                << age(one, files) << " and not everybody came"
                << (first ? ", which is the first difference" : "") << '\n';
            for (auto const& behind : one.behind) {
                out << "    " << ranks(behind.group.ranks);
                if (behind.sequence == 0) out << ": no collective yet\n";
                else
                    out << (behind.inside ? ": still in #" : ": last was in #") << behind.sequence
                        << ' ' << behind.group.call << '\n';
            }
            break;
    }
    if (!one.unknown.empty())
        out << "    " << ranks(one.unknown) << ": no black box (killed, or on another disk?)\n";
    if (!one.compared_all && one.kind != Outcome::disagree)
        out << "    the beginning is lost: each rank keeps its last 4096 operations\n";
}

char const* name_of(Outcome kind) {
    constexpr char const* names[] = {"agree", "behind", "disagree", "stuck"};
    return names[static_cast<std::size_t>(kind)];
}

nlohmann::ordered_json group_json(RankGroup const& group) {
    return {{"ranks", group.ranks}, {"call", group.call}};
}

}  // namespace

bool has_divergence(std::vector<CommunicatorFindings> const& findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [](auto const& one) { return one.kind != Outcome::agree; });
}

void write_text(std::vector<BlackBoxFile> const& files,
                std::vector<CommunicatorFindings> const& findings, std::ostream& out) {
    int size = 0;
    for (auto const& file : files) size = std::max(size, file.size);
    out << files.size() << " of " << size << " ranks have written a black box\n";
    for (auto const& file : files)
        if (!file.reason.empty())
            out << "  rank " << file.rank << " on " << file.host << ": " << file.reason << '\n';
    for (std::size_t i = 0; i < findings.size(); ++i) write_one(findings[i], files, i == 0, out);
}

void write_json(std::vector<BlackBoxFile> const& files,
                std::vector<CommunicatorFindings> const& findings, std::ostream& out) {
    nlohmann::ordered_json report;
    auto& boxes = report["files"] = nlohmann::ordered_json::array();
    for (auto const& file : files)
        boxes.push_back({{"path", file.path},
                         {"rank", file.rank},
                         {"host", file.host},
                         {"reason", file.reason}});
    auto& all = report["communicators"] = nlohmann::ordered_json::array();
    for (auto const& one : findings) {
        nlohmann::ordered_json row{{"name", one.name},
                                   {"ranks", one.hosts.size()},
                                   {"finding", name_of(one.kind)},
                                   {"sequence", one.sequence},
                                   {"with", group_json(one.with)},
                                   {"without_black_box", one.unknown}};
        auto& others = row["others"] = nlohmann::ordered_json::array();
        for (auto const& other : one.others) others.push_back(group_json(other));
        auto& late = row["behind"] = nlohmann::ordered_json::array();
        for (auto const& behind : one.behind) {
            auto entry = group_json(behind.group);
            entry["sequence"] = behind.sequence;
            entry["inside"] = behind.inside;
            late.push_back(std::move(entry));
        }
        all.push_back(std::move(row));
    }
    out << report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace sinew::launch
