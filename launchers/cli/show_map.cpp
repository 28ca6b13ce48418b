// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iomanip>
#include <sstream>

#include <nlohmann/json.hpp>

#include "launchers/map/mapping.hpp"

namespace sinew::launch {
namespace {

/// Formats ascending numbers with runs joined: "0-3,8".
std::string ranges(std::vector<int> const& numbers) {
    std::ostringstream out;
    for (std::size_t begin = 0; begin < numbers.size();) {
        std::size_t end = begin + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
        out << (begin == 0 ? "" : ",") << numbers[begin];
        if (end - begin > 1) out << "-" << numbers[end - 1];
        begin = end;
    }
    return out.str();
}

/// "region/zone/block/rack machine", a dash for each label that is not known.
std::string in_words(Place const& place) {
    auto const label = [](std::string const& each) { return each.empty() ? "-" : each; };
    auto const where = label(place.region) + "/" + label(place.zone) + "/" + label(place.block) +
                       "/" + label(place.rack);
    return place.machine.empty() ? where : where + " on " + place.machine;
}

struct Ranks {
    std::vector<std::vector<int>> of_node, of_app;
};

Ranks sort_out(JobMap const& map, std::size_t apps) {
    Ranks ranks{std::vector<std::vector<int>>(map.nodes.size()),
                std::vector<std::vector<int>>(apps)};
    for (int rank = 0; rank < map.size(); ++rank) {
        RankPlace const& place = map.ranks[static_cast<std::size_t>(rank)];
        ranks.of_node.at(static_cast<std::size_t>(place.node)).push_back(rank);
        ranks.of_app.at(static_cast<std::size_t>(place.app)).push_back(rank);
    }
    return ranks;
}

std::string or_dash(int number) { return number > 0 ? std::to_string(number) : "-"; }

/// Replaces control characters in arguments, which would break the table.
std::string joined(std::vector<std::string> const& words) {
    std::string line;
    for (std::string const& word : words) line += (line.empty() ? "" : " ") + word;
    std::replace_if(
        line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
    return line;
}

std::string plural(std::size_t number, char const* one) {
    return std::to_string(number) + " " + one + (number == 1 ? "" : "s");
}

}  // namespace

std::string show_map(JobMap const& map, std::vector<App> const& apps) {
    Ranks const ranks = sort_out(map, apps.size());
    std::size_t width = 4;
    for (Node const& node : map.nodes) width = std::max(width, node.name.size());
    std::ostringstream out;
    out << plural(map.ranks.size(), "rank") << " on " << plural(map.nodes.size(), "node")
        << (map.oversubscribed ? ", more than there are cores\n" : "\n");
    auto const row = [&](std::string const& node, std::string const& slots,
                         std::string const& cores) -> std::ostream& {
        return out << "  " << std::left << std::setw(static_cast<int>(width)) << node << std::right
                   << std::setw(7) << slots << std::setw(7) << cores << "  ";
    };
    bool const placed = std::any_of(map.nodes.begin(), map.nodes.end(),
                                    [](Node const& node) { return node.place != Place{}; });
    std::size_t longest = 5;
    for (auto const& numbers : ranks.of_node) longest = std::max(longest, ranges(numbers).size());
    auto const end = [&](std::string const& numbers, std::string const& where) {
        out << numbers;
        if (placed) out << std::string(longest - numbers.size() + 2, ' ') << where;
        out << "\n";
    };
    row("node", "slots", "cores");
    end("ranks", "place");
    for (std::size_t i = 0; i < map.nodes.size(); ++i) {
        row(map.nodes[i].name, or_dash(map.nodes[i].slots), or_dash(map.nodes[i].cores));
        end(ranges(ranks.of_node[i]), in_words(map.nodes[i].place));
    }
    for (std::size_t i = 0; i < apps.size(); ++i)
        out << "  " << (apps.size() == 1 ? "program" : "program " + std::to_string(i + 1)) << ": "
            << joined(apps[i].argv) << "  (ranks " << ranges(ranks.of_app[i]) << ")\n";
    return out.str();
}

std::string map_json(JobMap const& map, std::vector<App> const& apps,
                     std::string const& hosts_from) {
    Ranks const ranks = sort_out(map, apps.size());
    using Json = nlohmann::ordered_json;
    Json nodes = Json::array(), programs = Json::array();
    for (std::size_t i = 0; i < map.nodes.size(); ++i) {
        Node const& node = map.nodes[i];
        nodes.push_back(Json{{"name", node.name},
                             {"host", node.host},
                             {"slots", node.slots},
                             {"max_slots", node.max_slots},
                             {"cores", node.cores},
                             {"ranks", ranks.of_node[i]}});
    }
    for (std::size_t i = 0; i < apps.size(); ++i)
        programs.push_back(Json{{"argv", apps[i].argv}, {"ranks", ranks.of_app[i]}});
    Json whole{{"size", map.size()},
               {"oversubscribed", map.oversubscribed},
               {"nodes", std::move(nodes)},
               {"programs", std::move(programs)}};
    if (!hosts_from.empty()) whole["hosts_from"] = hosts_from;
    // Arguments need not be UTF-8; JSON must be.
    return whole.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sinew::launch
