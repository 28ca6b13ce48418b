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

/// Whether another process may be trusted with all that a process of the session is.
enum class PeerTrust : std::uint8_t {
    same_session,
    inbound_client,  ///< it has dialled us with a key for guests: it may ask objects, and nothing else
    outbound_server,  ///< we have dialled it so: it answers what it is asked
};

/// Another process, mostly of the session, over one authenticated link that all who talk to it share. Use it
/// with the runtime's guard held.
class Peer {
public:
    virtual ~Peer() = default;
    /// Goes out when the link is up, in order. Nothing happens after the peer was lost. Kinds: see
    /// Service. `full`: wait for `drained` of the service before sending much more.
    virtual wire::Flow send(std::uint8_t kind,
                            std::initializer_list<std::span<std::byte const>> parts) = 0;
    /// `send` and `flush` in one, which does not wake the loop's thread.
    virtual wire::Flow send_now(std::uint8_t kind,
                                std::initializer_list<std::span<std::byte const>> parts) = 0;
    /// Sends now what is queued, rather than at the end of the loop's turn.
    virtual void flush() = 0;
    virtual bool lost() const = 0;
    /// For messages: "pid 4711 on node-b".
    virtual std::string const& name() const = 0;
    virtual PeerTrust trust() const { return PeerTrust::same_session; }
    /// Ends the connection at once, also within a call of a service; services hear of the loss before
    /// it returns. `why`: for the log, and for those that wait for this peer. Again: nothing.
    virtual void drop(std::string const& why) = 0;
    /// What this process holds for it; null: there is no limit.
    virtual std::shared_ptr<MemoryBudget> budget() const { return nullptr; }
    /// Bytes that wait to be sent to it.
    virtual std::size_t queued() const { return 0; }
};

/// Who answers to messages of these kinds, whoever dialled whom. Called with the guard held.
struct Service {
    std::uint8_t first_kind, last_kind;
    std::function<void(std::shared_ptr<Peer> const&, wire::Message const&)> message;
    /// Of every peer, once; `why` as the link tells it, or why it could not be reached.
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

/// What there is once in a process that has children or handles: a thread that runs the loop, the
/// secret of the session (all processes that descend from one another by sinew, and those joined to
/// them over a communicator), a private folder, the address where others of the session reach it.
///
/// Made on first use, ends at exit. Everything is used with `guard` held, from any thread; callbacks
/// come with it held, on the loop's thread. After fork() a child has none: its use throws UsageError.
class Runtime {
public:
    static Runtime& instance();
    /// This is a fork of a process that has one: nothing here is to be used, or ended.
    static bool forked();
    /// In a fork: keeps for ever what its destructor would end, which belongs to the process that was
    /// forked. Any thread.
    static void leave_to_parent(std::shared_ptr<void const> object);
    /// On the thread that drives the loop, which runs callbacks: the guard is held.
    static bool in_callback();
    /// In a process that a session member has started: before the first use of `instance`. `folder`:
    /// where this process makes its private one, which goes with it at the latest; empty: anywhere.
    /// `network`: the address of this host for those of the session on others; empty: there are none.
    static void join_session(wire::Secret const& secret, std::string name, std::string folder = "",
                             std::string network = "");

    Runtime(Runtime const&) = delete;
    /// Throws UsageError in a fork, where it may be locked for ever: destructors ask `forked` before.
    std::mutex& guard();
    wire::Loop& loop();
    /// Who waits for what arrives may drive the loop.
    LoopLeader& loop_leader();
    wire::Secret const& secret() const;
    /// Random, of this process alone: see wire::Identity.
    std::uint64_t origin() const;
    /// "pid 4711 on node-b": how others shall call this process.
    std::string const& name() const;
    /// Of this machine, for people: "node-b".
    static std::string host_name();
    /// What `join_session` was told.
    static std::string const& inherited_folder();
    static std::string const& inherited_network();
    /// Processes with equal words here can use each other's Unix sockets and files in memory: the
    /// machine's boot id and the mount namespace.
    std::string const& host() const;
    /// Private (0700), in memory where possible; removed at exit, or by the next sinew here after a
    /// SIGKILL.
    std::string const& folder();
    /// Of the session's first process: where the others make theirs.
    std::string const& session_folder();

    /// Where this process listens, as wire::Address takes it. From the first call on it listens on a
    /// Unix socket in its folder; on TCP too (under TLS) once `listen_on_network` was called, or where
    /// the session has members on other hosts.
    std::vector<std::string> addresses();
    /// Throws SystemError. `host`: the address others reach this node under; empty: the first that
    /// is not loopback. Once for each is enough.
    void listen_on_network(std::string const& host = "");
    /// Under which others reach this host; children get it. Empty: nobody has said so yet.
    std::string const& network() const;

    /// Listens for processes of other sessions, who prove that they have this key (on a Unix socket
    /// also that they are of the same user), until this process ends. The address as others have it:
    /// with the real port, and a name for "0.0.0.0". Throws SystemError, UsageError.
    /// `memory`: what is held for each of them, in bytes.
    std::string listen_to_guests(std::string const& address, wire::Secret const& key,
                                 std::size_t memory);
    /// The process that listens there so. `patience`: until it is lost for want of an answer.
    std::shared_ptr<Peer> host(std::string const& address, wire::Secret const& key,
                               std::chrono::nanoseconds patience);

    void serve(Service service);
    /// The process that listens there; connected when first used, kept. `host` is that process's, and
    /// `origin`, too: where another one listens there by now, the peer is lost. 0: whoever it is.
    std::shared_ptr<Peer> peer(std::string const& host, std::vector<std::string> const& addresses,
                               std::uint64_t origin = 0);

    /// To be called, on the loop's thread, when the program ends by exit() or by leaving main: the
    /// loop turns until all have called their `done`, for a few seconds at most. Afterwards no
    /// callback comes any more: wake here whoever waits for one.
    void at_end(std::function<void(std::function<void()> done)> work);
    /// The program is ending, or has ended as far as this is concerned.
    bool ending() const;
    /// It has ended: the loop turns no more, and no wait for a callback has an end. So it is when
    /// objects with static storage duration are destroyed that were made before this.
    bool over() const;

private:
    Runtime();
    ~Runtime();
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew::process
