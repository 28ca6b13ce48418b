// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launchers/common/job.hpp"

namespace sinew::launch {

struct RunOptions;

/// The nodes asked for, one agent each, before any is started: their cores are not known yet, and
/// slots are 0 where nobody has said them. Names are unique: a host named twice is one node with
/// the slots of both, fake nodes are <host>-0, <host>-1, ... With --nnodes K only the first K.
/// Throws UsageError for two hosts of one name (a@node1, b@node1), and for fewer hosts than K.
std::vector<Node> requested_nodes(RunOptions const& options, std::string const& this_host);

/// Who runs where, once the agents have said how many cores they may use. `nodes` are in the order
/// of requested_nodes; those of the map are in ring order, the first of them being `nodes[0]`.
///
/// - Slots that nobody has said are the cores of the host, shared out among its fake nodes.
/// - Ranks fill node after node in ring order. They are dealt out one by one instead, to all nodes
///   in turn, by --map-by node, --nnodes and --fake-nodes N. Only --map-by node numbers them so,
///   too; else those of a node are consecutive.
/// - More ranks than slots go on dealing in turn, where oversubscription is allowed: by default
///   when all nodes are on one host. max_slots hold always.
/// - Without -n, all slots are used; with -N, so many on each node.
/// - Nodes that get no rank are not in the map. The first one always gets one.
///
/// Throws UsageError with the numbers and a remedy when the ranks do not fit.
JobMap make_map(RunOptions const& options, std::vector<Node> nodes);

/// For people (--report-map, --dry-run): a line for each node and for each program.
std::string show_map(JobMap const& map, std::vector<App> const& apps);
/// The same for programs, on one line:
/// {"size", "oversubscribed", "nodes": [{"name", "host", "slots", "max_slots", "cores", "ranks"}],
///  "programs": [{"argv", "ranks"}]}, and "hosts_from" where they are those of an allocation.
std::string map_json(JobMap const& map, std::vector<App> const& apps,
                     std::string const& hosts_from = {});

}  // namespace sinew::launch
