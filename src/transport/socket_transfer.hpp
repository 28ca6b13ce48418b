// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <sinew/comm/transport.hpp>

#include "src/transport/socket_frame.hpp"

namespace sinew::detail {

struct SocketGroup;

/// What a ticket stands for. Everything but `done` belongs to the engine's lock; whoever sets `done`
/// touches it no more.
struct Transfer {
    explicit Transfer(bool is_send) : send(is_send) {}
    bool const send;
    std::atomic<bool> done{false};
};

struct Send : Transfer {
    Send(int to, Frame const& what, std::byte const* bytes)
        : Transfer(true), peer(to), frame(what), from(bytes) {}
    int const peer;  ///< rank of the job, as everywhere below the transport itself
    Frame frame;
    std::byte const* const from;
    std::size_t taken = 0;  ///< of its bytes, put into pieces
};

struct Receive : Transfer {
    Receive(SocketGroup* in, int sender, int its_tag, std::byte* buffer, std::size_t length)
        : Transfer(false), group(in), from(sender), tag(its_tag), to(buffer), room(length) {}
    bool wants(int sender, int its_tag) const {
        return tag == its_tag && (from == sender || from == any_source);
    }
    bool fits() const { return bytes <= room; }

    SocketGroup* const group;
    int const from;  ///< or any_source
    int const tag;
    std::byte* const to;
    std::size_t const room;
    std::uint64_t order = 0;  ///< among the receives of its group
    int source = any_source;  ///< of the message that it got; any_source: none yet
    std::size_t bytes = 0;    ///< of that message
    std::size_t arrived = 0;
};

/// A message that came before its receive.
struct UnexpectedMessage {
    enum class Kind : std::uint8_t {
        copied,     ///< is here, or the rest of it is just arriving
        announced,  ///< waits at its sender under `id`
        local,      ///< of this rank to itself: waits at `sender`
    };
    bool is_for(int from, int its_tag) const {
        return tag == its_tag && (from == source || from == any_source);
    }

    Kind kind;
    int source;
    int tag;
    std::size_t bytes;
    std::unique_ptr<std::byte[]> copy;
    std::uint64_t id = 0;
    Send* sender = nullptr;
};

/// Where the payload goes that a stream is reading.
struct Sink {
    std::byte* to = nullptr;  ///< null: nowhere
    std::size_t left = 0;
    Receive* receive = nullptr;
    UnexpectedMessage* message = nullptr;
};

}  // namespace sinew::detail
