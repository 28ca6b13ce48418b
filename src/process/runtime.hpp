// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "src/process/loop_leader.hpp"
#include "src/process/resources/memory_budget.hpp"
#include "src/wire/link.hpp"
#include "src/wire/loop/loop.hpp"
#include "src/wire/tls/secret.hpp"

namespace sinew::process {

/// How far another process is trusted.
enum class PeerTrust : std::uint8_t {
    same_session,
    inbound_client,   ///< it has dialed us with a manager's key: it may only call objects
    outbound_server,  ///< we have dialed it with its key: it may answer our calls
};

/// Another process as this one sees it: one authenticated link, shared by all services. Use it with
/// the runtime's guard held.
class Peer {
public:
    virtual ~Peer() = default;
    /// Queues a message; it is sent when the link is up, in order. Does nothing after the peer was
    /// lost. Kinds: see Service. If it returns `full`, wait for the service's `drained` before you
    /// send much more.
    virtual wire::Flow send(std::uint8_t kind,
                            std::initializer_list<std::span<std::byte const>> parts) = 0;
    /// `send` and `flush` in one call, which does not wake the loop's thread.
    virtual wire::Flow send_now(std::uint8_t kind,
                                std::initializer_list<std::span<std::byte const>> parts) = 0;
    /// Sends what is queued now rather than at the end of the loop's turn.
    virtual void flush() = 0;
    virtual bool lost() const = 0;
    /// For messages: "pid 4711 on node-b".
    virtual std::string const& name() const = 0;
    virtual PeerTrust trust() const { return PeerTrust::same_session; }
    /// Ends the connection at once, also within a callback of a service. Calls `lost` of all
    /// services before it returns. `why` is logged, and part of the errors of waits for this peer.
    /// A second call has no effect.
    virtual void drop(std::string const& why) = 0;
    /// Limits what this process holds for the peer. Null: there is no limit.
    virtual std::shared_ptr<MemoryBudget> budget() const { return nullptr; }
    /// Bytes that wait to be sent to it.
    virtual std::size_t queued() const { return 0; }
};

/// Receives the messages of these kinds, on links that either side has opened. Called with the
/// guard held.
struct Service {
    std::uint8_t first_kind, last_kind;
    std::function<void(std::shared_ptr<Peer> const&, wire::Message const&)> message;
    /// Called once for every peer; `why` is the link's reason, or why the peer could not be
    /// reached.
    std::function<void(std::shared_ptr<Peer> const&, std::string const& why)> lost;
    std::function<void(std::shared_ptr<Peer> const&)> drained = [](auto const&) {};
};

/// Kinds of messages between processes of a session (0 to 239).
namespace kinds {
constexpr std::uint8_t queue = 10, queue_last = 29;
constexpr std::uint8_t supervisor = 50, supervisor_last = 69;
constexpr std::uint8_t child = 70, child_last = 109;  ///< between parent and child (see ChildTable)
constexpr std::uint8_t manager = 110, manager_last = 149;
}  // namespace kinds

/// The part of sinew that exists once in each process that has children or handles: a thread that
/// runs the event loop, the secret of the session (all processes that start one another through
/// sinew, and those joined to them over a communicator), a private folder, and the address where
/// others of the session reach this process.
///
/// Made on first use; ends at exit. All methods may be called from any thread with `guard` held.
/// Callbacks run on the loop's thread with the guard held. In a child after fork(), every use
/// throws UsageError.
class Runtime {
public:
    static Runtime& instance();
    /// This process is a fork of one that has a runtime: nothing here may be used or destroyed.
    static bool forked();
    /// In a fork: keeps the object for ever, since what its destructor would end belongs to the
    /// parent. Thread-safe.
    static void leave_to_parent(std::shared_ptr<void const> object);
    /// This thread drives the loop and runs a callback: it holds the guard.
    static bool in_callback();
    /// Joins the session of the parent. Call it in a child before the first use of `instance`.
    /// `folder`: where this process makes its private folder, which is removed together with it at
    /// the latest; empty: anywhere. `network`: this host's address for members of the session on
    /// other hosts; empty: there are none.
    static void join_session(wire::Secret const& secret, std::string name, std::string folder = "",
                             std::string network = "");

    Runtime(Runtime const&) = delete;
    /// Throws UsageError in a fork, where the mutex may be locked for ever: destructors must call
    /// `forked` first.
    std::mutex& guard();
    wire::Loop& loop();
    /// Lets a waiting thread drive the loop.
    LoopLeader& loop_leader();
    wire::Secret const& secret() const;
    /// A random number that identifies this process: see wire::Identity.
    std::uint64_t origin() const;
    /// How other processes name this one: "pid 4711 on node-b".
    std::string const& name() const;
    /// The name of this machine for messages: "node-b".
    static std::string host_name();
    /// The arguments of `join_session`.
    static std::string const& inherited_folder();
    static std::string const& inherited_network();
    /// Processes with equal values can use each other's Unix sockets and shared memory: the
    /// machine's boot id and the mount namespace.
    std::string const& host() const;
    /// This process's private folder (mode 0700), in memory where possible. It is removed at exit
    /// or, after a SIGKILL, by the next sinew program here.
    std::string const& folder();
    /// The folder of the session's first process, in which the others make theirs.
    std::string const& session_folder();

    /// Where this process listens, in the notation of wire::Address. From the first call on it
    /// listens on a Unix socket in its folder, and on TCP (with TLS) if `listen_on_network` was
    /// called or the session has members on other hosts.
    std::vector<std::string> addresses();
    /// Listens on TCP. `host`: the address under which others reach this host; empty: the first
    /// that is not loopback. Further calls for the same host do nothing. Throws SystemError.
    void listen_on_network(std::string const& host = "");
    /// The address under which others reach this host, which children inherit. Empty if not
    /// known yet.
    std::string const& network() const;

    /// Listens for processes of other sessions until this process ends. They must prove that they
    /// have this key, and on a Unix socket also that they are of the same user. `memory`: bytes
    /// that are held for each of them. Returns the address for clients: with the real port, and a
    /// host's name in place of "0.0.0.0". Throws SystemError, UsageError.
    std::string listen_to_guests(std::string const& address, wire::Secret const& key,
                                 std::size_t memory);
    /// Connects to such a process. `patience`: how long it may be silent before it counts as lost.
    std::shared_ptr<Peer> host(std::string const& address, wire::Secret const& key,
                               std::chrono::nanoseconds patience);

    void serve(Service service);
    /// The process that listens at one of these addresses. It is connected at the first use and
    /// kept. `host` and `origin` identify it: if another process listens there by now, the peer is
    /// lost. `origin` 0: any.
    std::shared_ptr<Peer> peer(std::string const& host, std::vector<std::string> const& addresses,
                               std::uint64_t origin = 0);

    /// Registers work for the end of the program, by exit() or by leaving main. It is called on the
    /// loop's thread; the loop runs until all have called `done`, a few seconds at most. No
    /// callback comes afterwards, so wake here all threads that wait for one.
    void at_end(std::function<void(std::function<void()> done)> work);
    /// The program is ending, or has ended as far as the runtime is concerned.
    bool ending() const;
    /// The loop has stopped: a wait for a callback would never end. This is the state when objects
    /// with static storage duration are destroyed that were made before the runtime.
    bool over() const;

private:
    Runtime();
    ~Runtime();
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew::process
