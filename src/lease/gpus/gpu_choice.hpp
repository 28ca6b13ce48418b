// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace sinew::lease {

/// How well each two GPUs of a host are connected: a greater number is better, 0 is the least or
/// not known.
class Connections {
public:
    enum Level : int {
        across_nodes = 0,  ///< between NUMA nodes, or not known
        numa_node = 1,     ///< within a NUMA node
        host_bridge = 2,   ///< below one PCIe host bridge
        pcie_bridges = 3,  ///< through several PCIe switches
        pcie_bridge = 4,   ///< through one PCIe switch
        same_board = 5,
        nvlink = 16,  ///< plus the number of links
    };

    explicit Connections(std::size_t gpus = 0) : gpus_(gpus), levels_(gpus * gpus) {}
    std::size_t size() const { return gpus_; }
    int between(int one, int other) const { return levels_[at(one, other)]; }
    void set(int one, int other, int level) {
        levels_[at(one, other)] = level;
        levels_[at(other, one)] = level;
    }

private:
    std::size_t at(int one, int other) const {
        return static_cast<std::size_t>(one) * gpus_ + static_cast<std::size_t>(other);
    }
    std::size_t gpus_;
    std::vector<int> levels_;
};

/// Chooses `count` of the GPUs `free`, and returns them by rising number. Preferred is, in this
/// order: a set whose worst connection is best, since collectives are as fast as that; the
/// greatest sum of connections; the set that leaves the best connections to others, so that a pair
/// is not torn apart for one; most of `held`; the lowest numbers. The best set is found by trying
/// all if there are at most 20,000, otherwise by growing one from each GPU.
///
/// `free` rises, has at least `count` elements, and includes `held`.
std::vector<int> choose_gpus(Connections const& connections, std::vector<int> const& free,
                             std::vector<int> const& held, std::size_t count);

}  // namespace sinew::lease
