// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

namespace sinew {

/// Identifies a node: processes with the same key can share memory. Sent to other ranks as it is.
struct NodeIdentity {
    std::array<char, 192> key{};
    std::array<char, 64> host{};

    /// Returns this process's identity: SINEW_NODE_NAME if set, otherwise host name, boot id and
    /// the device behind /dev/shm (containers on a host may share the first two, but not memory).
    static NodeIdentity mine();
    static NodeIdentity named(std::string const& key, std::string const& host);

    std::string key_text() const { return key.data(); }
    std::string host_text() const { return host.data(); }
};

}  // namespace sinew
