// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "src/base/system/unique_fd.hpp"

namespace sinew {

/// Makes connections to the other ranks of a job, for a SocketTransport, which owns it and calls it
/// from one thread at a time. Nothing here blocks.
class Connector {
public:
    /// A connection to a rank, or the news that there will never be one.
    struct Event {
        int peer = 0;
        UniqueFd fd;      ///< a stream socket that does not block; none: the peer is lost
        std::string why;  ///< of a loss
    };

    virtual ~Connector() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    /// A connection to this rank, please: it comes by `progress`, once, whoever dialled.
    virtual void want(int peer) = 0;
    /// Readable when `progress` has something to do.
    virtual int descriptor() const = 0;
    virtual std::vector<Event> progress() = 0;
};

}  // namespace sinew
