// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "src/ring/protocol.hpp"

namespace sinew::ring {

/// The variables that torch, NCCL and others read: RANK, WORLD_SIZE, MASTER_ADDR and so on, and
/// SINEW_RING.
std::map<std::string, std::string> environment_of(int rank, std::string const& ring,
                                                  Table const& table);

/// Sets variables, and restores their former values. No other thread may use the environment during
/// construction and destruction.
class Environment {
public:
    explicit Environment(std::map<std::string, std::string> const& variables);
    Environment(Environment const&) = delete;
    ~Environment();

private:
    std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace sinew::ring
