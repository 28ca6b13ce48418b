// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launchers/common/job.hpp"

namespace sinew::launch {

struct RunOptions;

/// The requested nodes, one agent each, before any is started: their cores are not known yet, and
/// slots are 0 where not given. Names are unique: a host named twice is one node with the slots of
/// both; fake nodes are <host>-0, <host>-1, ... With --nnodes K only the first K are returned.
/// Throws UsageError for two hosts of one name (a@node1, b@node1), and for fewer hosts than K.
std::vector<Node> requested_nodes(RunOptions const& options, std::string const& this_host);

/// Places the ranks, once the agents have reported how many cores they may use. `nodes` are in the
/// order of requested_nodes; those of the map are in ring order, from `nodes[0]` on.
///
/// - Slots that were not given are the cores of the host, shared out among its fake nodes.
/// - Ranks fill node after node in ring order. With --map-by node, --nnodes or --fake-nodes N they
///   are dealt out one by one to all nodes in turn instead. Only --map-by node also numbers them
///   that way; otherwise the ranks of a node are consecutive.
/// - Ranks beyond the slots are dealt out in turn if oversubscription is allowed: by default if all
///   nodes are on one host. max_slots is never exceeded.
/// - Without -n, all slots are used; with -N, that many on each node.
/// - Nodes without ranks are not in the map. The first node always gets a rank.
///
/// Throws UsageError with the numbers and a remedy if the ranks do not fit.
JobMap make_map(RunOptions const& options, std::vector<Node> nodes);

/// The options for another number of nodes than the `first` for which they were meant: the ranks of
/// each node remain as many, as far as one program has a number of ranks (-n).
RunOptions scaled(RunOptions options, int first, int nodes);

/// A listing for people (--report-map, --dry-run): one line for each node and each program.
std::string show_map(JobMap const& map, std::vector<App> const& apps);
/// The same for programs, as one line of JSON:
/// {"size", "oversubscribed", "nodes": [{"name", "host", "slots", "max_slots", "cores", "ranks"}],
///  "programs": [{"argv", "ranks"}]}, and "hosts_from" where they are those of an allocation.
std::string map_json(JobMap const& map, std::vector<App> const& apps,
                     std::string const& hosts_from = {});

}  // namespace sinew::launch
