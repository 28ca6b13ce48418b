// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "src/base/system/unique_fd.hpp"
#include "src/process/rpc/messenger.hpp"

namespace sinew::process {

/// Operations in messages of pipes.
enum class PipeOp : std::uint16_t {
    claim,   ///< a PipeToken: send what comes out of this end
    data,    ///< bytes
    taken,   ///< number: bytes that were passed on
    end,     ///< no more data
    broken,  ///< the end there is no longer read
};

/// Pipes whose ends are on different hosts. Each process has a socket whose other side is the end
/// of the pipe or its user's, and messages connect the two. At most 1 MiB in each direction is in
/// flight.
class PipeRelays {
public:
    explicit PipeRelays(Messenger& messenger) : messenger_(messenger) {}
    PipeRelays(PipeRelays const&) = delete;

    void add(std::shared_ptr<Peer> const& peer, std::uint64_t id, UniqueFd socket);
    void send(std::shared_ptr<Peer> const& peer, PipeOp op, std::uint64_t id,
              std::uint64_t number = 0, std::span<std::byte const> bytes = {});
    void message(std::shared_ptr<Peer> const& peer, Message const& message);
    void lost(std::shared_ptr<Peer> const& peer);

private:
    using Key = std::pair<Peer*, std::uint64_t>;
    struct Relay {
        std::shared_ptr<Peer> peer;
        std::uint64_t id;
        UniqueFd socket;
        wire::Loop::Handle readable{}, writable{};
        std::size_t under_way = 0;  ///< sent, and not taken there
        std::deque<std::vector<std::byte>> arrived{};
        std::size_t written = 0;  ///< of the first of these
        bool read_all = false;    ///< nothing more comes out of the socket
        bool end_arrived = false, wrote_all = false;
    };
    void watch(Relay& relay);
    void read(Relay& relay);
    void write(Relay& relay);
    void finish_writing(Relay& relay);
    void drop_if_over(Relay& relay);

    Messenger& messenger_;
    std::map<Key, Relay> relays_;
};

}  // namespace sinew::process
