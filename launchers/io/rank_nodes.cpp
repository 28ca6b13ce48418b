// SPDX-License-Identifier: Apache-2.0
#include "launchers/io/rank_nodes.hpp"

#include <nlohmann/json.hpp>

#include "launchers/common/flat_json.hpp"
#include "launchers/io/output_record.hpp"

namespace sinew::launch {

std::string RankNodes::line(JobMap const& map) {
    auto runs = nlohmann::json::array();
    for (int rank = 0; rank < map.size();) {
        int const node = map.ranks[rank].node, first = rank;
        while (rank < map.size() && map.ranks[rank].node == node) ++rank;
        runs.push_back({map.nodes[node].name, rank - first});
    }
    return nlohmann::json{{"rank_nodes", std::move(runs)}}.dump();
}

std::optional<RankNodes> RankNodes::parse(std::string_view line) {
    if (!line.starts_with("{\"rank_nodes\":")) return std::nullopt;
    try {
        RankNodes found;
        auto const json = parse_flat_json(line);
        for (auto const& run : json.at("rank_nodes")) {
            auto const count = run.at(1).get<std::int64_t>();
            if (run.size() != 2 || count < 1 || count > most_ranks_of_job - found.size())
                return std::nullopt;
            found.nodes_.insert(found.nodes_.end(), static_cast<std::size_t>(count),
                                run.at(0).get<std::string>());
        }
        return found;
    } catch (nlohmann::json::exception const&) {
        return std::nullopt;
    } catch (UsageError const&) {
        return std::nullopt;
    }
}

}  // namespace sinew::launch
