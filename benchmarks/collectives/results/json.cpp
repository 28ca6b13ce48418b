// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "benchmarks/collectives/results/row.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

using Json = nlohmann::ordered_json;

/// Rounds to six digits: more would be noise, and unreadable.
double rounded(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.6g", value);
    return std::strtod(digits, nullptr);
}

Json to_json(Percentiles const& us) {
    return {{"p10", rounded(us.p10)}, {"p50", rounded(us.p50)}, {"p90", rounded(us.p90)}};
}

Percentiles percentiles_from(Json const& json) {
    return {json.at("p10"), json.at("p50"), json.at("p90")};
}

Json to_json(Tail const& tail) {
    return {{"p50", rounded(tail.p50)}, {"p99", rounded(tail.p99)}, {"calls", tail.calls}};
}

std::optional<Tail> optional_tail(Json const& json) {
    if (!json.contains("tail")) return {};
    Json const& tail = json.at("tail");
    return Tail{tail.at("p50"), tail.at("p99"), tail.at("calls")};
}

Json peers_to_json(std::vector<PeerResult> const& peers) {
    Json all = Json::object();
    for (PeerResult const& peer : peers) {
        Json one = {{"us", to_json(peer.us)}, {"ratio", rounded(peer.ratio)}};
        if (peer.fraction_of_link) one["fraction_of_link"] = rounded(*peer.fraction_of_link);
        if (peer.tail) one["tail"] = to_json(*peer.tail);
        all[peer.name] = one;
    }
    return all;
}

std::optional<double> optional_number(Json const& json, char const* key) {
    if (!json.contains(key)) return {};
    return json.at(key).get<double>();
}

std::vector<PeerResult> peers_from(Json const& json) {
    std::vector<PeerResult> peers;
    for (auto const& [name, peer] : json.items())
        peers.push_back({name, percentiles_from(peer.at("us")), peer.at("ratio"),
                         optional_number(peer, "fraction_of_link"), optional_tail(peer)});
    return peers;
}

Json by_state_to_json(std::vector<StateResult> const& states) {
    Json all = Json::object();
    for (StateResult const& state : states) {
        Json peers = Json::object();
        for (PeerResult const& peer : state.peers)
            peers[peer.name] = {{"us", {{"p50", rounded(peer.us.p50)}}},
                                {"ratio", rounded(peer.ratio)}};
        Json& part = all[state.state];
        part = {{"rounds", state.rounds}, {"us", {{"p50", rounded(state.us)}}}, {"peers", peers}};
        if (state.limit_us) part["limit_us"] = rounded(*state.limit_us);
    }
    return all;
}

std::vector<StateResult> by_state_from(Json const& json) {
    std::vector<StateResult> states;
    if (!json.contains("by_state")) return states;
    for (auto const& [name, part] : json.at("by_state").items()) {
        StateResult state{name, part.at("rounds"), part.at("us").at("p50")};
        for (auto const& [peer, result] : part.at("peers").items()) {
            double const us = result.at("us").at("p50");
            state.peers.push_back({peer, {us, us, us}, result.at("ratio")});
        }
        state.limit_us = optional_number(part, "limit_us");
        states.push_back(state);
    }
    return states;
}

Row from_json(Json const& json) {
    Row row{.collective = json.at("collective"),
            .bytes = json.at("bytes"),
            .ranks = json.at("ranks"),
            .nodes = json.at("nodes"),
            .dtype = json.at("dtype"),
            .op = json.at("op"),
            .algorithm = json.at("algorithm"),
            .variant = json.at("variant"),
            .us = percentiles_from(json.at("us")),
            .algbw_gbs = json.at("algbw_gbs"),
            .busbw_gbs = json.at("busbw_gbs"),
            .state = json.at("state"),
            .peers = peers_from(json.at("peers")),
            .fraction_of_link = optional_number(json, "fraction_of_link"),
            .by_state = by_state_from(json),
            .limit_us = optional_number(json, "limit_us"),
            .one_way_ns = optional_number(json, "one_way_ns"),
            .tail = optional_tail(json)};
    if (!json.at("correct").is_null()) row.wrong = json.at("correct").get<bool>() ? 0 : 1;
    return row;
}

}  // namespace

std::string to_json(Row const& row) {
    Json json = {{"collective", row.collective},
                 {"bytes", row.bytes},
                 {"ranks", row.ranks},
                 {"nodes", row.nodes},
                 {"dtype", row.dtype},
                 {"op", row.op},
                 {"algorithm", row.algorithm},
                 {"variant", row.variant},
                 {"us", to_json(row.us)},
                 {"algbw_gbs", rounded(row.algbw_gbs)},
                 {"busbw_gbs", rounded(row.busbw_gbs)},
                 {"correct", nullptr},
                 {"state", row.state},
                 {"peers", peers_to_json(row.peers)}};
    if (row.wrong) json["correct"] = *row.wrong == 0;
    if (PeerResult const* const best = best_peer(row.peers)) json["best_peer"] = best->name;
    if (row.fraction_of_link) json["fraction_of_link"] = rounded(*row.fraction_of_link);
    if (row.limit_us) json["limit_us"] = rounded(*row.limit_us);
    if (row.limit_us) json["of_limit"] = rounded(*row.of_limit());
    if (row.one_way_ns) json["one_way_ns"] = rounded(*row.one_way_ns);
    if (row.tail) json["tail"] = to_json(*row.tail);
    if (!row.by_state.empty()) json["by_state"] = by_state_to_json(row.by_state);
    return json.dump();
}

Row row_from_json(std::string const& line) {
    try {
        return from_json(Json::parse(line));
    } catch (Json::exception const& problem) {
        throw UsageError(text("not a row of this benchmark (", problem.what(), ")"));
    }
}

PeerResult const* best_peer(std::vector<PeerResult> const& peers) {
    auto const better = [](PeerResult const& a, PeerResult const& b) { return a.ratio < b.ratio; };
    auto const best = std::min_element(peers.begin(), peers.end(), better);
    return best == peers.end() ? nullptr : &*best;
}

Results read_results(std::string const& path) {
    std::ifstream file(path);
    if (!file) throw UsageError(text(path, " cannot be read. Give files written by --json"));
    Results results;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.empty()) continue;
        try {
            if (line.starts_with("{\"run\":")) results.run = run_info_from_json(line);
            else results.rows.push_back(row_from_json(line));
        } catch (UsageError const& problem) {
            throw UsageError(
                text(path, ":", number, ": ", problem.what(), ". Give files written by --json"));
        }
    }
    if (results.rows.empty())
        throw UsageError(text(path, " has no rows. Give files written by --json"));
    return results;
}

}  // namespace sinew::bench
