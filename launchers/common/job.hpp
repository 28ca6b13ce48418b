// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sinew::launch {

/// One program of the job; `prog1 args : -n 2 prog2 args` has two.
struct App {
    std::vector<std::string> argv;  ///< argv[0] is looked up in PATH on each node
    int ranks = 0;                  ///< 0: as many as there are slots
    std::string folder;             ///< working directory; empty: that of `sinew run` if it exists
    std::map<std::string, std::string> env;  ///< added to the job's variables
};

/// One host that the user requested (hostfile, -H); `host` is passed on to ssh or the launch agent.
struct HostRequest {
    std::string host;
    int slots = 0;      ///< 0: not given; the number of its cores is used
    int max_slots = 0;  ///< 0: no limit
    friend bool operator==(HostRequest const&, HostRequest const&) = default;
};

/// Labels by which nodes are sorted, in natural order, the region first. Empty labels are equal.
struct Place {
    std::string region, zone, block, rack;
    std::string machine = {};  ///< on which the node runs, where several nodes may share one
    friend bool operator==(Place const&, Place const&) = default;
};

/// One node of the job, served by one agent.
struct Node {
    std::string name;  ///< unique; for messages, NODE_MAP, SINEW_NODE_NAME
    std::string host;  ///< passed on to the backend
    int slots = 0;     ///< ranks it takes without oversubscription
    int max_slots = 0;
    int cores = 0;  ///< cores that its agent may use; 0: not known yet
    Place place;
};

/// Where one rank runs.
struct RankPlace {
    int node = 0;        ///< index into JobMap::nodes
    int local_rank = 0;  ///< index among the ranks of its node
    int app = 0;         ///< index into the apps
    friend bool operator==(RankPlace const&, RankPlace const&) = default;
};

/// The placement of all ranks. A rank's number is its index in `ranks`; the ranks of a node are
/// consecutive unless --map-by node is given.
struct JobMap {
    std::vector<Node> nodes;  ///< in ring order
    std::vector<RankPlace> ranks;
    bool oversubscribed = false;  ///< some node has more ranks than cores

    int size() const { return static_cast<int>(ranks.size()); }
    std::vector<int> ranks_of(int node) const {
        std::vector<int> found;
        for (int rank = 0; rank < size(); ++rank)
            if (ranks[rank].node == node) found.push_back(rank);
        return found;
    }
};

enum class BindTo : std::uint8_t { automatic, core, socket, none };
enum class MpiSupport : std::uint8_t { automatic, pmix, pmi1, none };

}  // namespace sinew::launch
