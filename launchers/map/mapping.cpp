// SPDX-License-Identifier: Apache-2.0
#include "launchers/map/mapping.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <tuple>

#include <sinew/error.hpp>

#include "launchers/command_line/options.hpp"
#include "launchers/map/natural_order.hpp"
#include "launchers/map/node_names.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr int no_limit = std::numeric_limits<int>::max();
constexpr long most_ranks = 1'000'000;

/// How many ranks a node takes: up to `slots` at first, never more than `limit`.
struct Room {
    int slots = 0;
    int limit = no_limit;
};

std::string count(long number, char const* one) {
    return text(number, " ", one, number == 1 ? "" : "s");
}

void check_names(std::vector<Node> const& nodes) {
    std::map<std::string, Node const*> known;
    for (Node const& node : nodes) {
        auto const [at, is_new] = known.emplace(node.name, &node);
        if (!is_new)
            throw UsageError(text("two nodes are named ", node.name, " (started as ",
                                  at->second->host, " and ", node.host,
                                  "), and each node needs its own name. Name each host once"));
    }
    if (nodes.empty()) throw UsageError("no nodes to run on. Name hosts with -H or --hostfile");
}

/// Sorts by region, zone, block, rack, machine, name (natural order); rotates the first given to the front.
void sort_into_ring(std::vector<Node>& nodes) {
    std::string const first = nodes.front().name;
    auto const less = [](Node const& a, Node const& b) {
        for (auto const& [mine, its] :
             {std::tie(a.place.region, b.place.region), std::tie(a.place.zone, b.place.zone),
              std::tie(a.place.block, b.place.block), std::tie(a.place.rack, b.place.rack),
              std::tie(a.place.machine, b.place.machine), std::tie(a.name, b.name)}) {
            int const order = compare_natural(mine, its);
            if (order != 0) return order < 0;
        }
        return false;
    };
    std::stable_sort(nodes.begin(), nodes.end(), less);
    std::rotate(nodes.begin(),
                std::find_if(nodes.begin(), nodes.end(),
                             [&](Node const& node) { return node.name == first; }),
                nodes.end());
}

/// Sets slots that were not given to the cores of the host, shared out among the nodes on it.
void fill_in_slots(std::vector<Node>& nodes, int per_node) {
    std::map<std::string, int> on_host;
    for (Node const& node : nodes) ++on_host[node.host];
    for (Node& node : nodes) {
        if (node.slots == 0) {
            if (node.cores > 0) node.slots = std::max(1, node.cores / on_host[node.host]);
            else if (per_node > 0) node.slots = per_node;
            else
                throw UsageError(text(
                    "the slots of ", node.name,
                    " are not known (nor how many cores it has). Set slots=N in the hostfile, ",
                    node.name, ":N in -H, or -N"));
            if (node.max_slots > 0) node.slots = std::min(node.slots, node.max_slots);
        }
    }
}

bool may_oversubscribe(RunOptions const& options, std::vector<Node> const& nodes) {
    bool const one_host = std::all_of(nodes.begin(), nodes.end(), [&](Node const& node) {
        return node.host == nodes.front().host;
    });
    return options.oversubscribe.value_or(one_host);
}

std::vector<Room> room_on(std::vector<Node> const& nodes, int per_node, bool oversubscribe) {
    std::vector<Room> rooms;
    for (Node const& node : nodes) {
        int const limit = node.max_slots > 0 ? node.max_slots : no_limit;
        if (per_node > limit)
            throw UsageError(text("-N ", per_node, " (", node.name, " has max_slots=", limit,
                                  "). Lower -N, or raise max_slots in the hostfile"));
        if (per_node > node.slots && !oversubscribe)
            throw UsageError(text("-N ", per_node, " (", node.name, " has ",
                                  count(node.slots, "slot"),
                                  "). Lower -N, give it more slots, or use --oversubscribe"));
        if (per_node > 0) rooms.push_back({per_node, per_node});
        else rooms.push_back({node.slots, oversubscribe ? limit : node.slots});
    }
    return rooms;
}

long sum(std::vector<Room> const& rooms, int Room::*part) {
    return std::accumulate(rooms.begin(), rooms.end(), 0L,
                           [=](long total, Room const& room) { return total + room.*part; });
}

[[noreturn]] void does_not_fit(RunOptions const& options, long wanted,
                               std::vector<Node> const& nodes, std::vector<Room> const& rooms) {
    std::string const where =
        text(count(static_cast<long>(nodes.size()), "node"), ": ", node_names(nodes));
    if (options.per_node > 0)
        throw UsageError(text(count(wanted, "rank"), " do not fit (-N ", options.per_node,
                              " leaves room for ", sum(rooms, &Room::slots), " on ", where,
                              "). Raise -N, add hosts, or lower -n"));
    long const slots = sum(rooms, &Room::slots), limit = sum(rooms, &Room::limit);
    if (limit > slots)
        throw UsageError(text(count(wanted, "rank"), " do not fit (max_slots allow ", limit, " on ",
                              where, "). Raise max_slots, add hosts, or lower -n"));
    throw UsageError(
        text(count(wanted, "rank"), " do not fit (", count(slots, "slot"), " on ", where,
             "). Add hosts or slots, lower -n, or use --oversubscribe",
             options.oversubscribe.has_value() ? " instead of --nooversubscribe" : ""));
}

/// The total number of ranks.
long total_ranks(RunOptions const& options, std::vector<Room> const& rooms) {
    long total = 0;
    if (options.apps.empty()) throw UsageError("no program to run. Name it after the flags");
    for (std::size_t i = 0; i < options.apps.size(); ++i) {
        App const& app = options.apps[i];
        if (app.ranks == 0 && options.apps.size() > 1)
            throw UsageError(text("program ", i + 1, " of ", options.apps.size(), ", ",
                                  app.argv.empty() ? "" : app.argv.front(),
                                  ", has no -n (each of several programs needs its own)"));
        total += app.ranks;
    }
    return total == 0 ? sum(rooms, &Room::slots) : total;
}

/// Deals ranks out to all nodes in turn, one each, up to `part` of each node's room.
void deal(std::vector<int>& counts, long& left, std::vector<Room> const& rooms, int Room::*part) {
    for (bool dealt = true; dealt && left > 0;) {
        dealt = false;
        for (std::size_t node = 0; node < rooms.size() && left > 0; ++node) {
            if (counts[node] >= rooms[node].*part) continue;
            ++counts[node];
            --left;
            dealt = true;
        }
    }
}

std::vector<int> ranks_per_node(RunOptions const& options, std::vector<Room> const& rooms,
                                long left) {
    bool const spread = options.map_by == MapBy::node || options.nodes > 0 ||
                        (options.fake_nodes > 0 && options.fake_slots.empty());
    std::vector<int> counts(rooms.size(), 0);
    if (spread) {
        deal(counts, left, rooms, &Room::slots);
    } else {
        for (std::size_t node = 0; node < rooms.size(); ++node) {
            counts[node] = static_cast<int>(std::min<long>(rooms[node].slots, left));
            left -= counts[node];
        }
    }
    deal(counts, left, rooms, &Room::limit);
    return counts;
}

std::vector<RankPlace> number(std::vector<int> const& counts, MapBy by) {
    std::vector<RankPlace> ranks;
    if (by == MapBy::slot) {
        for (std::size_t node = 0; node < counts.size(); ++node)
            for (int i = 0; i < counts[node]; ++i) ranks.push_back({static_cast<int>(node), i, 0});
        return ranks;
    }
    int const rounds = *std::max_element(counts.begin(), counts.end());
    for (int i = 0; i < rounds; ++i)
        for (std::size_t node = 0; node < counts.size(); ++node)
            if (i < counts[node]) ranks.push_back({static_cast<int>(node), i, 0});
    return ranks;
}

void hand_out_programs(std::vector<RankPlace>& ranks, std::vector<App> const& apps) {
    auto rank = ranks.begin();
    for (std::size_t app = 0; app < apps.size(); ++app) {
        auto const end = apps[app].ranks == 0 ? ranks.end() : rank + apps[app].ranks;
        for (; rank != end; ++rank) rank->app = static_cast<int>(app);
    }
}

/// Whether a host has more ranks than cores; nodes of one host share its cores.
bool is_oversubscribed(std::vector<Node> const& nodes, std::vector<int> const& counts) {
    std::map<std::string, int> on_host;
    for (std::size_t i = 0; i < nodes.size(); ++i) on_host[nodes[i].host] += counts[i];
    return std::any_of(nodes.begin(), nodes.end(), [&](Node const& node) {
        return node.cores > 0 && on_host[node.host] > node.cores;
    });
}

void check_stdin(RunOptions const& options, int size) {
    if (options.stdin_to == "all" || options.stdin_to == "none") return;
    if (std::strtol(options.stdin_to.c_str(), nullptr, 10) >= size)
        throw UsageError(text("--stdin ", options.stdin_to, " (there ", size == 1 ? "is " : "are ",
                              count(size, "rank"), ", from 0 on). Name one of them, all or none"));
}

void drop_unused(std::vector<Node>& nodes, std::vector<int>& counts) {
    std::vector<Node> used;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (counts[i] > 0) used.push_back(std::move(nodes[i]));
    nodes = std::move(used);
    std::erase(counts, 0);
}

}  // namespace

JobMap make_map(RunOptions const& options, std::vector<Node> nodes) {
    check_names(nodes);
    if (options.nodes > 0 && nodes.size() > static_cast<std::size_t>(options.nodes))
        nodes.resize(static_cast<std::size_t>(options.nodes));
    fill_in_slots(nodes, options.per_node);
    if (options.rank_order == RankOrder::topology) sort_into_ring(nodes);
    bool const oversubscribe = may_oversubscribe(options, nodes);
    std::vector<Room> const rooms = room_on(nodes, options.per_node, oversubscribe);
    long const total = total_ranks(options, rooms);
    if (total > most_ranks)
        throw UsageError(text(total, " ranks (at most ", most_ranks, "). Lower -n"));
    if (total > sum(rooms, &Room::limit)) does_not_fit(options, total, nodes, rooms);
    std::vector<int> counts = ranks_per_node(options, rooms, total);
    drop_unused(nodes, counts);
    JobMap map;
    map.oversubscribed = is_oversubscribed(nodes, counts);
    map.nodes = std::move(nodes);
    map.ranks = number(counts, options.map_by);
    check_stdin(options, map.size());
    hand_out_programs(map.ranks, options.apps);
    return map;
}

RunOptions scaled(RunOptions options, int first, int nodes) {
    if (first == nodes) return options;
    if (options.nodes > 0) options.nodes = nodes;
    if (options.apps.size() != 1 || options.apps.front().ranks == 0) return options;
    int& ranks = options.apps.front().ranks;
    if (options.per_node == 0) options.per_node = (ranks + first - 1) / first;
    ranks = 0;
    return options;
}

}  // namespace sinew::launch
