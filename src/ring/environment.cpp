// SPDX-License-Identifier: Apache-2.0
#include "src/ring/environment.hpp"

#include <cstdlib>

namespace sinew::ring {

std::map<std::string, std::string> environment_of(int rank, std::string const& ring,
                                                  Table const& table) {
    auto const size = std::to_string(table.members.size());
    auto const number = std::to_string(rank);
    auto const& master = table.members.front();
    return {{"RANK", number},
            {"WORLD_SIZE", size},
            {"LOCAL_RANK", number},  // all members share a host
            {"LOCAL_WORLD_SIZE", size},
            {"GROUP_RANK", "0"},
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
