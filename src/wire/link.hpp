// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "src/wire/loop/loop.hpp"
#include "src/wire/socket/address.hpp"
#include "src/wire/tls/secret.hpp"

namespace sinew::wire {

/// The identity of one end. Sent in the first frame after authentication, and constant from then
/// on.
struct Identity {
    std::uint32_t node = 0;   ///< index of the node in the job
    std::uint32_t slot = 0;   ///< which process of that node; 0 is its agent
    std::uint32_t epoch = 0;  ///< incarnation: a restarted process has a higher one
    std::string name;         ///< for messages: "agent on node-b"
    /// A random number that this process alone has; 0: none. A process that meets its own number
    /// has been connected to itself by somebody who relays its bytes, and refuses the peer.
    std::uint64_t origin = 0;
};

/// A message that has arrived; the bytes are valid during the call only.
struct Message {
    std::uint8_t kind = 0;     ///< the user's; 0 to 239
    std::uint16_t stream = 0;  ///< the user's
    std::span<std::byte const> payload;
};

/// Limits and times of a link. The defaults are for an agent and its parent.
struct LinkOptions {
    std::size_t max_frame = std::size_t{256} << 20;  ///< a larger frame of the peer ends the link
    /// A peer that accepts only smaller frames than this is refused, since its user could send it
    /// nothing.
    std::size_t least_peer_frame = std::size_t{64} << 10;
    std::size_t high_water = std::size_t{4}
                             << 20;  ///< `send` returns full above this number of queued bytes
    std::size_t low_water = std::size_t{1} << 20;
    Clock::duration heartbeat = std::chrono::seconds(1);  ///< sent when nothing else was; 0: never
    Clock::duration suspect_after = std::chrono::seconds(3);
    /// Silence after which the peer is dead; the observer's own lag is added. 0: never.
    Clock::duration dead_after = std::chrono::seconds(6);
    Clock::duration handshake = std::chrono::seconds(5);
};

enum class Liveness : std::uint8_t { alive, suspect };

/// Why a link ended.
struct LinkEnd {
    enum class Cause : std::uint8_t {
        closed,     ///< the peer closed it in order
        lost,       ///< reset, or end of file without a goodbye: the process or its host is gone
        silent,     ///< no sign of life for `dead_after`
        violation,  ///< the peer broke the protocol (frame too long, invalid bytes)
    };
    Cause cause = Cause::lost;
    Identity peer;
    std::string text;  ///< "agent on node-b: no sign of life for 6.2 s"
};

enum class Flow : std::uint8_t { go, full };

/// An authenticated connection to one peer: complete messages, in order, in both directions.
///
/// For the loop's thread, or for whoever holds the loop's guard. Callbacks run on the loop, never
/// within a call of the user. Set them right after the link was received: nothing is delivered
/// before the loop's next turn. The destructor, also within a callback, closes the connection at
/// once (queued bytes may be lost), and no callback is called any more, not even for frames that
/// were received. A user that must not be called any more destroys its link at once.
class Link {
public:
    struct Callbacks {
        std::function<void(Message const&)> message;
        /// Called once; the link is dead then, and may be destroyed within the call.
        std::function<void(LinkEnd const&)> end;
        std::function<void(Liveness)> liveness = [](Liveness) {};
        /// Called after `send` returned full, when the queue is below the low water mark again.
        std::function<void()> drained = [] {};
    };

    virtual ~Link() = default;
    virtual void on(Callbacks callbacks) = 0;
    /// Queues a message made of these parts in a row. All messages of one turn of the loop leave in
    /// one system call. Nothing is refused: `full` asks the caller to wait for `drained`. Does
    /// nothing after the end of the link. Throws UsageError beyond the peer's frame limit (256
    /// MiB).
    virtual Flow send(std::uint8_t kind, std::uint16_t stream,
                      std::initializer_list<std::span<std::byte const>> parts) = 0;
    /// Gives the kernel what is queued, as far as it takes it, instead of at the end of the turn.
    /// For other threads than the loop's. Calls nothing; a `drained` that is due comes later.
    virtual void flush() = 0;
    /// `send` and `flush` in one call, which does not wake the loop.
    virtual Flow send_now(std::uint8_t kind, std::uint16_t stream,
                          std::initializer_list<std::span<std::byte const>> parts) = 0;
    /// Reads nothing until `resume`, so that the other end is soon full: for users that forward
    /// what they read. What was read along with the last message is kept. Silence meanwhile does
    /// not end the link while bytes wait to be read.
    virtual void pause() = 0;
    virtual void resume() = 0;
    /// Sends what is queued and a goodbye, then closes; `end` is called with cause `closed`. Drops
    /// what takes longer than `patience`.
    virtual void close(Clock::duration patience = std::chrono::seconds(2)) = 0;
    virtual Identity const& peer() const = 0;
    virtual std::size_t queued() const = 0;
    /// Addresses of both ends as the kernel has them: "10.0.0.3"; empty for Unix sockets.
    virtual std::string local_host() const = 0;
    virtual std::string peer_host() const = 0;
};

/// What both ends must have in common, and who this one is.
struct Credentials {
    Secret secret;
    Identity self;
    /// When dialling: the `origin` of the intended peer; any other peer is refused. 0: any.
    std::uint64_t expected_origin = 0;
};

/// Accepts peers that prove themselves: on a Unix socket the same user (SO_PEERCRED; its folder
/// must have mode 0700), over TCP the knowledge of the secret (TLS 1.3, external PSK). All others
/// are closed, counted, and reported at most once a second by log_warning.
class Listener {
public:
    struct Options {
        LinkOptions link;
        std::size_t max_unauthenticated = 64;  ///< further ones wait in the kernel's queue
        /// Called for each connection that is refused, with the peer's address (empty: not known) and
        /// the reason. It must not destroy the listener.
        std::function<void(std::string const& peer, std::string const& why)> refused = {};
    };
    using Accepted = std::function<void(std::unique_ptr<Link>)>;

    /// Port 0 takes a free port. Throws SystemError naming the address.
    Listener(Loop& loop, Address const& address, Credentials credentials, Options options,
             Accepted accepted);
    Listener(Listener const&) = delete;
    Listener& operator=(Listener const&) = delete;
    /// Removes a Unix socket's file.
    ~Listener();

    /// The bound address, with the real port.
    Address const& address() const;
    std::size_t refused() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

/// The outcome of dialling: a link, or a reason.
struct Dialled {
    std::unique_ptr<Link> link;
    std::string error;  ///< "tcp:10.0.0.3:4711: the other end does not know this job's secret"
    int attempts = 0;   ///< connections tried, with that which succeeded
    bool unreachable = false;  ///< all the patience has passed, and no connection was accepted
};

/// Connects and authenticates. Tries again while nobody listens yet (refused, no such file,
/// unreachable) until `patience` is over. Wrong credentials are final. Destroying the handle gives
/// up without a call.
[[nodiscard]] Loop::Handle dial(Loop& loop, Address const& address, Credentials const& credentials,
                                LinkOptions const& options, Clock::duration patience,
                                std::function<void(Dialled)> done);

}  // namespace sinew::wire
