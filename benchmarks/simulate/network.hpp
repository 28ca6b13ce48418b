// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::bench {

/// A way between two ranks: a message of n bytes takes latency + n / rate.
struct Link {
    double latency = 0;  ///< seconds, of one message from program to program
    double rate = 1;     ///< bytes per second, each way
};

/// A network of which every node has one link.
struct Network {
    std::string name;
    Link link = {};
    std::string source = {};  ///< where its numbers come from
};

/// The networks that --network knows: ethernet-25, ethernet-100, ethernet-400, infiniband-ndr.
std::vector<Network> const& named_networks();

/// Throws UsageError with the nearest name if there is none of this name.
Network const& find_network(std::string const& name);

}  // namespace sinew::bench
