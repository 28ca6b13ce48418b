// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <sinew/manager/object.hpp>
#include <utility>

#include "src/manager/client/connection.hpp"
#include "src/manager/restart/supervisor.hpp"
#include "src/manager/server/server.hpp"
#include "src/process/rpc/messenger.hpp"

namespace sinew::manager {

using process::Clock;

class RemoteObject;

/// All managers that this process calls, and its own objects if it is a manager. All methods but
/// `instance` with the guard held.
class ObjectRegistry {
public:
    static ObjectRegistry& instance();
    /// After the first use of `instance`. With the guard held.
    static ObjectRegistry& existing();
    ObjectRegistry(ObjectRegistry const&) = delete;

    process::Messenger& messenger() { return messenger_; }
    /// Makes this process a manager.
    Server& serve();
    std::shared_ptr<Connection> connection(
        process::ProcessAddress const& address, std::size_t most_pending,
        std::shared_ptr<Incarnation const> incarnation = nullptr);
    /// Adds the supervisor of a manager that this process has made, and that is restarted or kept
    /// in a folder.
    std::shared_ptr<Supervisor> add_supervisor(Supervisor::Options options,
                                               std::unique_ptr<SnapshotFolder> folder,
                                               Supervisor::Callbacks callbacks);
    void remove_supervisor(std::uint64_t lineage) { supervisors_.erase(lineage); }
    /// Waits for the next incarnation after a lost one, and returns its address. Throws ObjectLost,
    /// Timeout.
    ManagerPlace place_after(Lock& lock, Incarnation const& lost, Clock::time_point deadline);
    /// Connects to a manager of another session. It has not answered yet.
    std::shared_ptr<Connection> host(std::string const& address, wire::Secret const& key,
                                     std::chrono::nanoseconds patience, std::size_t most_pending);
    /// The common state of all handles of an object. `held`: the manager knows of it.
    std::shared_ptr<detail::ObjectEnd> object(std::shared_ptr<Connection> const& connection,
                                              ObjectId id, char const* type, bool held);
    /// The object of an encoded handle. `type`: the expected type. Throws DecodeError.
    std::shared_ptr<detail::ObjectEnd> read_object(Reader& reader, char const* type);
    /// Whether this process has a handle of it.
    bool knows(Connection& connection, ObjectId id) const;
    /// Null: this process is not a manager.
    Server* server() { return server_.get(); }
    /// Passes a message to it.
    std::shared_ptr<Connection> here();

private:
    explicit ObjectRegistry(process::Messenger& messenger);
    friend class RemoteObject;
    void message(std::shared_ptr<process::Peer> const& peer, process::Message const& message);
    void lost(std::shared_ptr<process::Peer> const& peer, std::string const& why);
    void to_supervisor(std::shared_ptr<process::Peer> const& peer, process::Message const& message);
    std::shared_ptr<Connection> known(process::ProcessAddress const& address) const;

    process::Messenger& messenger_;
    std::unique_ptr<Server> server_;
    std::shared_ptr<Connection> here_;
    std::map<std::uint64_t, std::shared_ptr<Supervisor>> supervisors_;
    std::uint64_t lineages_ = 0;
    std::map<process::Peer*, std::shared_ptr<Connection>> connections_;
    bool has_hosts_ = false;  ///< some are managers of other sessions
    std::map<std::pair<Connection*, ObjectId>, std::weak_ptr<RemoteObject>> objects_;
};

}  // namespace sinew::manager
