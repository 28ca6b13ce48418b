// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <sinew/object.hpp>
#include <utility>

#include "src/manager/connection.hpp"
#include "src/manager/maker.hpp"
#include "src/manager/server.hpp"
#include "src/process/queue_mail.hpp"

namespace sinew::manager {

using process::Clock;

class RemoteObject;

/// All managers that this process calls, and its own objects where it is one. Everything with the
/// guard held, but `instance`.
class Desk {
public:
    static Desk& instance();
    /// After the first use of that, with the guard held.
    static Desk& existing();
    Desk(Desk const&) = delete;

    process::Mail& mail() { return mail_; }
    /// This process becomes a manager.
    Server& serve();
    std::shared_ptr<Connection> connection(process::ProcessAddress const& address,
                                           std::size_t most_pending,
                                           std::shared_ptr<Line const> line = nullptr);
    /// Of managers that this process made, and starts anew when they die, or keeps in a folder.
    std::shared_ptr<Maker> add_maker(Maker::Options options, std::unique_ptr<LedgerFolder> folder,
                                     Maker::Hands hands);
    void remove_maker(std::uint64_t lineage) { makers_.erase(lineage); }
    /// Where a manager is whose process of that line is gone. Waits; throws ObjectLost, Timeout.
    Place place_after(Lock& lock, Line const& lost, Clock::time_point deadline);
    /// A manager of another family; it has not answered yet.
    std::shared_ptr<Connection> host(std::string const& address, wire::Secret const& key,
                                     std::chrono::nanoseconds patience, std::size_t most_pending);
    /// All handles of an object share one; `held`: the manager knows of it.
    std::shared_ptr<detail::ObjectEnd> object(std::shared_ptr<Connection> const& connection,
                                              ObjectId id, char const* type, bool held);
    /// Of an encoded handle; `type`: what it must be of. Throws DecodeError.
    std::shared_ptr<detail::ObjectEnd> read_object(Reader& reader, char const* type);
    /// Somebody here has a handle of it.
    bool knows(Connection& connection, ObjectId id) const;
    /// Null: this process is no manager.
    Server* server() { return server_.get(); }
    /// To that.
    std::shared_ptr<Connection> here();

private:
    explicit Desk(process::Mail& mail);
    friend class RemoteObject;
    void letter(std::shared_ptr<process::Peer> const& peer, process::Letter const& letter);
    void lost(std::shared_ptr<process::Peer> const& peer, std::string const& why);
    void to_maker(std::shared_ptr<process::Peer> const& peer, process::Letter const& letter);
    std::shared_ptr<Connection> known(process::ProcessAddress const& address) const;

    process::Mail& mail_;
    std::unique_ptr<Server> server_;
    std::shared_ptr<Connection> here_;
    std::map<std::uint64_t, std::shared_ptr<Maker>> makers_;
    std::uint64_t lineages_ = 0;
    std::map<process::Peer*, std::shared_ptr<Connection>> connections_;
    bool has_hosts_ = false;  ///< managers of other families are among them
    std::map<std::pair<Connection*, ObjectId>, std::weak_ptr<RemoteObject>> objects_;
};

}  // namespace sinew::manager
