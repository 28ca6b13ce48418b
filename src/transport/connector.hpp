// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "src/base/system/unique_fd.hpp"

namespace sinew {

/// Makes connections to the other ranks of a job for a SocketTransport, which owns the connector
/// and calls it from one thread at a time. No function blocks.
class Connector {
public:
    /// A new connection to a rank, or the report that there will never be one.
    struct Event {
        int peer = 0;
        UniqueFd fd;      ///< a stream socket that does not block; none: the peer is lost
        std::string why;  ///< the reason of a loss
    };

    virtual ~Connector() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    /// Requests a connection to a rank. `progress` returns it once, whichever side dialed.
    virtual void want(int peer) = 0;
    /// Returns a descriptor that is readable when `progress` has something to do.
    virtual int descriptor() const = 0;
    /// Makes progress and returns the connections made or lost since the last call.
    virtual std::vector<Event> progress() = 0;
};

}  // namespace sinew
