// SPDX-License-Identifier: Apache-2.0
#include "src/ring/environment.hpp"

#include <algorithm>
#include <cstdlib>

namespace sinew::ring {

std::map<std::string, std::string> environment_of(int rank, std::string const& ring,
                                                  Table const& table) {
    auto const size = std::to_string(table.members.size());
    auto const number = std::to_string(rank);
    auto const& master = table.members.front();
    // Counts the members of the same node, whose ranks need not be adjacent.
    auto const node = table.nodes[static_cast<std::size_t>(rank)];
    auto const same = [node](int each) { return each == node; };
    auto const before = std::count_if(table.nodes.begin(), table.nodes.begin() + rank, same);
    auto const local = std::count_if(table.nodes.begin(), table.nodes.end(), same);
    return {{"RANK", number},
            {"WORLD_SIZE", size},
            {"LOCAL_RANK", std::to_string(before)},
            {"LOCAL_WORLD_SIZE", std::to_string(local)},
            {"GROUP_RANK", std::to_string(node)},
            {"MASTER_ADDR", master.address},
            {"MASTER_PORT", std::to_string(master.port)},
            {"SINEW_RING", ring},
            {"SINEW_RING_RANK", number},
            {"SINEW_RING_SIZE", size},
            {"SINEW_RING_EPOCH", std::to_string(table.epoch)}};
}

Environment::Environment(std::map<std::string, std::string> const& variables) {
    for (auto const& [name, value] : variables) {
        char const* const old = std::getenv(name.c_str());
        before_[name] = old == nullptr ? std::nullopt : std::optional<std::string>(old);
        ::setenv(name.c_str(), value.c_str(), 1);
    }
}

Environment::~Environment() {
    for (auto const& [name, value] : before_) {
        if (value) ::setenv(name.c_str(), value->c_str(), 1);
        else ::unsetenv(name.c_str());
    }
}

}  // namespace sinew::ring
