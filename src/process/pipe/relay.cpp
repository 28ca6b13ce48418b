// SPDX-License-Identifier: Apache-2.0
#include "src/process/pipe/relay.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace sinew::process {
namespace {

constexpr std::size_t most_under_way = std::size_t{1} << 20;

bool try_again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

void PipeRelays::send(std::shared_ptr<Peer> const& peer, PipeOp op, std::uint64_t id,
                      std::uint64_t number, std::span<std::byte const> bytes) {
    messenger_.send(peer, {ServiceId::pipe, static_cast<std::uint16_t>(op), 0, id, number}, bytes);
}

void PipeRelays::add(std::shared_ptr<Peer> const& peer, std::uint64_t id, UniqueFd socket) {
    auto const [entry, added] = relays_.try_emplace({peer.get(), id}, Relay{peer, id, {}});
    if (!added) return;
    entry->second.socket = std::move(socket);
    watch(entry->second);
}

void PipeRelays::watch(Relay& relay) {
    if (relay.read_all || relay.under_way >= most_under_way) {
        relay.readable = {};
    } else if (!relay.readable) {
        relay.readable = messenger_.runtime().loop().readable(
            relay.socket.get(), [this, &relay] { messenger_.on_loop([&] { read(relay); }); });
    }
}

void PipeRelays::read(Relay& relay) {
    std::array<std::byte, 60'000> bytes;
    auto const count = ::recv(relay.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && try_again()) return;
    if (count > 0) {
        relay.under_way += static_cast<std::size_t>(count);
        send(relay.peer, PipeOp::data, relay.id, 0,
             std::span(bytes).first(static_cast<std::size_t>(count)));
        return watch(relay);
    }
    relay.read_all = true;
    send(relay.peer, PipeOp::end, relay.id);
    watch(relay);
    drop_if_over(relay);
}

void PipeRelays::message(std::shared_ptr<Peer> const& peer, Message const& message) {
    auto const found = relays_.find({peer.get(), message.head.id});
    if (found == relays_.end()) return;
    auto& relay = found->second;
    switch (static_cast<PipeOp>(message.head.op)) {
        case PipeOp::data:
            if (relay.wrote_all) return;
            relay.arrived.emplace_back(message.bytes.begin(), message.bytes.end());
            return write(relay);
        case PipeOp::taken:
            relay.under_way -= std::min<std::size_t>(relay.under_way, message.head.number);
            return watch(relay);
        case PipeOp::end:
            relay.end_arrived = true;
            return write(relay);
        case PipeOp::broken:
            ::shutdown(relay.socket.get(), SHUT_RD);
            relay.read_all = true;
            watch(relay);
            return drop_if_over(relay);
        default:
            return;
    }
}

void PipeRelays::write(Relay& relay) {
    while (!relay.arrived.empty() && !relay.wrote_all) {
        auto const rest = std::span(relay.arrived.front()).subspan(relay.written);
        auto const count =
            ::send(relay.socket.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0 && try_again()) {
            if (!relay.writable)
                relay.writable = messenger_.runtime().loop().writable(
                    relay.socket.get(),
                    [this, &relay] { messenger_.on_loop([&] { write(relay); }); });
            return;
        }
        if (count < 0) {
            send(relay.peer, PipeOp::broken, relay.id);
            relay.end_arrived = true;
            relay.arrived.clear();
            break;
        }
        relay.written += static_cast<std::size_t>(count);
        if (relay.written < relay.arrived.front().size()) continue;
        send(relay.peer, PipeOp::taken, relay.id, relay.written);
        relay.written = 0;
        relay.arrived.pop_front();
    }
    relay.writable = {};
    if (relay.end_arrived) finish_writing(relay);
}

void PipeRelays::finish_writing(Relay& relay) {
    relay.wrote_all = true;
    ::shutdown(relay.socket.get(), SHUT_WR);
    drop_if_over(relay);
}

void PipeRelays::drop_if_over(Relay& relay) {
    if (relay.read_all && relay.wrote_all) relays_.erase({relay.peer.get(), relay.id});
}

void PipeRelays::lost(std::shared_ptr<Peer> const& peer) {
    std::erase_if(relays_, [&](auto const& each) { return each.first.first == peer.get(); });
}

}  // namespace sinew::process
