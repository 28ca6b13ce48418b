// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <map>
#include <memory>
#include <sinew/detail/pipe_end.hpp>
#include <string>

#include "src/base/system/unique_fd.hpp"
#include "src/process/pipe/handle.hpp"
#include "src/process/pipe/relay.hpp"
#include "src/process/rpc/messenger.hpp"

namespace sinew::process {

/// Keeps ends of pipes that were passed on until they are fetched: over a Unix socket, which hands
/// out the descriptor itself, or from another host through a relay.
class PipeRegistry {
public:
    static PipeRegistry& instance() { return Messenger::service<PipeRegistry>(); }
    PipeRegistry(PipeRegistry const&) = delete;

    /// Keeps the end, and returns what the new owner needs to fetch it. Throws SystemError if too
    /// many ends wait to be fetched.
    PipeHandle keep(UniqueFd end);
    enum class Route { direct, relayed };
    /// Throws PeerLost if the end is no longer kept.
    UniqueFd fetch(PipeHandle const& handle, Route route);
    Route route(PipeHandle const& handle) const;

private:
    struct Visitor {
        UniqueFd socket;
        wire::Loop::Handle readable, deadline;
    };
    using Visitors = std::list<Visitor>;

    friend class Messenger;
    explicit PipeRegistry(Messenger& messenger);
    void listen();
    void watch();
    void accept();
    void serve(Visitors::iterator visitor);
    void message(std::shared_ptr<Peer> const& peer, Message const& message);
    UniqueFd take(PipeToken const& token);

    Messenger& messenger_;
    std::map<PipeToken, UniqueFd> kept_;
    std::string path_;
    UniqueFd listening_;
    wire::Loop::Handle acceptable_, pause_;
    Visitors visitors_;
    PipeRelays relays_;
};

/// Fetches the end that the handle stands for.
std::shared_ptr<detail::PipeSocket> open_pipe(PipeHandle const& handle, PipeRegistry::Route route);

/// A pair of connected sockets, blocking, closed on exec. Throws SystemError.
std::pair<UniqueFd, UniqueFd> connected_sockets();

}  // namespace sinew::process
