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

/// The object behind a ticket. All members but `done` are guarded by the engine's lock. After
/// setting `done`, the engine does not access the transfer again.
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
    std::size_t taken = 0;  ///< bytes already queued as pieces
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
    std::uint64_t order = 0;  ///< place among the receives of its group
    int source = any_source;  ///< source of the matched message; any_source: unmatched
    std::size_t bytes = 0;    ///< size of the matched message
    std::size_t arrived = 0;
};

/// A message that came before its receive.
struct UnexpectedMessage {
    enum class Kind : std::uint8_t {
        copied,     ///< in `copy`; the rest of it may still be arriving
        announced,  ///< still at its sender, under `id`
        local,      ///< from this rank to itself, still in the buffer of `sender`
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

/// The destination of the payload that a stream is reading.
struct Sink {
    std::byte* to = nullptr;  ///< null: the payload is discarded
    std::size_t left = 0;
    Receive* receive = nullptr;
    UnexpectedMessage* message = nullptr;
};

}  // namespace sinew::detail
