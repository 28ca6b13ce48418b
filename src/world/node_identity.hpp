// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

namespace sinew {

/// What two processes must have in common to share a node, that is, memory. Plain bytes, to be sent
/// to other ranks.
struct NodeIdentity {
    std::array<char, 192> key{};
    std::array<char, 64> host{};

    /// This process: its host name, the kernel's boot id and the device behind /dev/shm (containers
    /// on one host may share the first two, but not memory). SINEW_NODE_NAME replaces all of it.
    static NodeIdentity mine();
    static NodeIdentity named(std::string const& key, std::string const& host);

    std::string key_text() const { return key.data(); }
    std::string host_text() const { return host.data(); }
};

}  // namespace sinew
