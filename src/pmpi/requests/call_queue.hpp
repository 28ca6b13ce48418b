// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/pmpi/requests/pending_collective.hpp"

namespace sinew::pmpi {

struct CommRoute;

/// The non-blocking collectives of one communicator that this rank has called and that have not ended, in
/// the order of the calls: the short ones (PostingQueue) or the longer ones (BackgroundQueue).
/// Thread-safe.
class CallQueue {
public:
    CallQueue() = default;
    CallQueue(CallQueue const&) = delete;
    CallQueue& operator=(CallQueue const&) = delete;

    /// Ends the calls that can end without waiting for a rank that has not made them. Throws PeerLost; the caller
    /// then calls fail().
    virtual void progress() = 0;
    /// Waits until a call has ended. Throws PeerLost and Timeout; then all have failed.
    virtual void await(PendingCollective const& call) = 0;
    /// The program has freed the requests of the calls that have not ended: no thread of it makes them
    /// progress. Throws BackendError if there is no thread to do so.
    virtual void nobody_looks_after() = 0;
    /// A rank for which the first call waits.
    virtual int awaited_rank() = 0;
    /// Ends all calls, because a rank was lost or there is no memory; so the communicator is lost.
    virtual void fail() noexcept = 0;
    virtual CommRoute& route() const = 0;

protected:
    ~CallQueue() = default;
};

}  // namespace sinew::pmpi
