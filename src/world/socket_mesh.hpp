// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/system/unique_fd.hpp"
#include "src/transport/connector.hpp"
#include "src/world/handshake.hpp"
#include "src/world/world_file.hpp"

namespace sinew {

/// Connects the ranks of a world file on demand, by Unix sockets within a node and by TCP between
/// nodes. A connection is used only after its Handshake.
///
/// If two ranks dial each other at once, the connection dialed by the lower rank stays. An incoming
/// connection that has not completed its handshake after 5 s is closed and counted in refused(). If
/// its dialer was a rank that was busy meanwhile, that rank dials again.
class SocketMesh final : public Connector {
public:
    struct Options {
        std::chrono::milliseconds handshake{5000};  ///< limit for incoming handshakes
        std::chrono::milliseconds connect{30000};   ///< limit until the other host accepts
        std::size_t max_unproven = 256;  ///< incoming handshakes at once; others wait in the kernel
    };

    /// `listeners` are listening sockets bound to this rank's addresses.
    SocketMesh(WorldFile world, int rank, std::vector<UniqueFd> listeners, Options options);
    SocketMesh(WorldFile world, int rank, std::vector<UniqueFd> listeners)
        : SocketMesh(std::move(world), rank, std::move(listeners), Options()) {}

    SocketMesh(SocketMesh const&) = delete;
    SocketMesh& operator=(SocketMesh const&) = delete;

    int rank() const override { return static_cast<int>(self_.rank); }
    int size() const override { return world_.size(); }
    void want(int peer) override;
    int descriptor() const override { return epoll_.get(); }
    std::vector<Event> progress() override;

    /// Returns how many incoming connections were closed because their handshake failed.
    std::size_t refused() const { return refused_; }

private:
    using Clock = std::chrono::steady_clock;
    enum class State : std::uint8_t { none, dialling, yielded, met, lost };
    struct Peer {
        State state = State::none;
        std::uint64_t dial = 0;    ///< number of our handshake in progress; 0: none
        Clock::time_point next{};  ///< when to dial again
    };

    Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
    void watch(int fd, std::uint64_t number, std::uint32_t events, int operation);
    void dial(int rank);
    void dial_again(int rank, State state, std::chrono::milliseconds pause);
    void accept(std::size_t listener);
    void listen_again();
    void add(Handshake handshake, std::uint32_t events);
    void advance(std::uint64_t number, Handshake& handshake, std::uint32_t events);
    void connected(std::uint64_t number, Handshake& handshake);
    void end_dial(std::uint64_t number, Handshake& handshake, Handshake::Result result);
    void decide(std::uint64_t number, Handshake& handshake);
    void meet(std::uint64_t number, Handshake& handshake, int rank);
    void lose(int rank, std::string const& why);
    void tick();
    void set_timer();

    WorldFile world_;
    Options options_;
    Handshake::Self self_;
    std::vector<UniqueFd> listeners_;
    UniqueFd epoll_, timer_;
    bool ticking_ = false, full_ = false;
    std::vector<Peer> peers_;
    std::map<std::uint64_t, Handshake> handshakes_;  // by number, oldest first
    std::uint64_t numbers_ = 1024;                   // lower ones name listeners and the timer
    std::size_t unproven_ = 0, refused_ = 0;
    int redials_ = 0;
    std::vector<Event> events_;
};

}  // namespace sinew
