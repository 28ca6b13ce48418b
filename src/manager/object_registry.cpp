// SPDX-License-Identifier: Apache-2.0
#include "src/manager/object_registry.hpp"

#include <sinew/error.hpp>
#include <sinew/manager/reply.hpp>

#include "src/base/text.hpp"
#include "src/manager/client/object.hpp"

namespace sinew::manager {
namespace {

ObjectRegistry* the_registry = nullptr;

}  // namespace

ObjectRegistry& ObjectRegistry::instance() {
    auto& messenger = process::Messenger::instance();  // throws in a forked process
    auto const lock = messenger.lock();
    if (the_registry == nullptr)
        the_registry = new ObjectRegistry(messenger);  // never destroyed, like the runtime
    return *the_registry;
}

ObjectRegistry& ObjectRegistry::existing() { return *the_registry; }

bool ObjectRegistry::knows(Connection& connection, ObjectId id) const {
    auto const found = objects_.find({&connection, id});
    return found != objects_.end() && !found->second.expired();
}

ObjectRegistry::ObjectRegistry(process::Messenger& messenger) : messenger_(messenger) {
    messenger_.serve(
        process::ServiceId::manager,
        {[this](auto const& peer, process::Message const& each) { message(peer, each); },
         [this](auto const& peer, std::string const& why) { lost(peer, why); }, [] {}});
}

Server& ObjectRegistry::serve() {
    if (!server_)
        server_ = std::make_unique<Server>(
            messenger_, [this](process::Message const& message) { here_->message(message); });
    return *server_;
}

std::shared_ptr<Connection> ObjectRegistry::connection(
    process::ProcessAddress const& address, std::size_t most_pending,
    std::shared_ptr<Incarnation const> incarnation) {
    if (address.origin == messenger_.origin()) {
        if (!here_)
            here_ = std::make_shared<Connection>(messenger_, address, nullptr, &serve(),
                                                 most_pending, std::move(incarnation));
        return here_;
    }
    if (auto const connection = known(address)) return connection;
    auto const peer = messenger_.find(address);
    auto& found = connections_[peer.get()];
    if (!found)
        found = std::make_shared<Connection>(messenger_, address, peer, nullptr, most_pending);
    if (incarnation && !found->incarnation()) found->set_incarnation(std::move(incarnation));
    return found;
}

std::shared_ptr<Connection> ObjectRegistry::here() {
    constexpr std::size_t most_pending = 10'000;
    return here_ ? here_ : connection(messenger_.own_address(), most_pending);
}

// A handle of a manager of another session contains its guest address, but not the key. Handles
// that come from such a manager contain addresses that are valid only in its session.
std::shared_ptr<Connection> ObjectRegistry::known(process::ProcessAddress const& address) const {
    if (!has_hosts_ && !address.is_of_guest()) return nullptr;
    for (auto const& [peer, connection] : connections_)
        if (connection->address().origin == address.origin) return connection;
    if (!address.is_of_guest()) return nullptr;
    throw UsageError(text("a handle of an object in ", address.name,
                          ", a manager of another session at ",
                          address.addresses.empty() ? "?" : address.addresses.front(),
                          ", has reached a process that is not connected to it. Call "
                          "Manager::connect in this process, with its address and key, first"));
}

std::shared_ptr<Connection> ObjectRegistry::host(std::string const& address,
                                                 wire::Secret const& key,
                                                 std::chrono::nanoseconds patience,
                                                 std::size_t most_pending) {
    auto const peer = messenger_.runtime().host(address, key, patience);
    auto& found = connections_[peer.get()];
    has_hosts_ = true;
    if (!found)
        found = std::make_shared<Connection>(
            messenger_, process::ProcessAddress::of_host(text("the manager at ", address), address),
            peer, nullptr, most_pending);
    return found;
}

std::shared_ptr<detail::ObjectEnd> ObjectRegistry::object(
    std::shared_ptr<Connection> const& connection, ObjectId id, char const* type, bool held) {
    auto& known = objects_[{connection.get(), id}];
    if (auto object = known.lock()) return object;
    auto object = std::make_shared<RemoteObject>(*this, connection, id, type);
    known = object;
    if (!held) connection->tell(Op::hold, id);
    return object;
}

void ObjectRegistry::message(std::shared_ptr<process::Peer> const& peer,
                             process::Message const& message) {
    if (is_answer(message.head.op)) {
        auto const found = connections_.find(peer.get());
        if (found != connections_.end()) found->second->message(message);
    } else if (is_for_supervisor(message.head.op)) {
        if (peer->trust() == process::PeerTrust::same_session) to_supervisor(peer, message);
    } else if (server_ && peer->trust() != process::PeerTrust::outbound_server) {
        server_->message(peer, message);
    }
}

void ObjectRegistry::to_supervisor(std::shared_ptr<process::Peer> const& peer,
                                   process::Message const& message) {
    auto const found = supervisors_.find(message.head.id);
    if (found != supervisors_.end()) return found->second->message(peer, message);
    if (static_cast<Op>(message.head.op) != Op::where) return;
    messenger_.send(peer, head(Op::ended, 0, message.head.number),
                    bytes_of("the manager is gone for good (it was shut down by its supervisor)"));
}

std::shared_ptr<Supervisor> ObjectRegistry::add_supervisor(Supervisor::Options options,
                                                           std::unique_ptr<SnapshotFolder> folder,
                                                           Supervisor::Callbacks callbacks) {
    auto const lineage = ++lineages_;
    auto supervisor = std::make_shared<Supervisor>(messenger_, lineage, std::move(options),
                                                   std::move(folder), std::move(callbacks));
    supervisors_.emplace(lineage, supervisor);
    return supervisor;
}

ManagerPlace ObjectRegistry::place_after(Lock& lock, Incarnation const& lost,
                                         Clock::time_point deadline) {
    if (lost.supervisor.origin == messenger_.origin()) {
        auto const found = supervisors_.find(lost.lineage);
        if (found == supervisors_.end())
            throw ObjectLost("the manager is gone for good (it was shut down)", false);
        auto const supervisor = found->second;  // it may be removed meanwhile
        return supervisor->wait_for_place(lock, lost.number, deadline);
    }
    constexpr std::size_t most_questions = 1000;
    auto const supervisor = connection(lost.supervisor, most_questions);
    std::uint64_t const incarnation = lost.number;
    auto const asked = supervisor->ask(lock, Op::where, lost.lineage, bytes_of(incarnation));
    lock.unlock();
    bool const in_time = asked->wait_until(deadline);
    if (!in_time)
        throw Timeout(
            text("the manager has not been started again in time, as far as its supervisor (",
                 supervisor->name(), ") has reported. Wait longer: see Object::refresh"));
    lock.lock();
    if (asked->failed() && supervisor->is_lost())
        throw ObjectLost(text("the manager is gone for good (its supervisor, ", supervisor->name(),
                              ", can no longer be reached)"),
                         false);
    auto reader = asked->result();
    return decode<ManagerPlace>(reader);
}

void ObjectRegistry::lost(std::shared_ptr<process::Peer> const& peer, std::string const& why) {
    if (server_) server_->lost(peer);
    auto const found = connections_.find(peer.get());
    if (found == connections_.end()) return;
    auto const connection = found->second;
    connections_.erase(found);
    connection->lost(why);
}

}  // namespace sinew::manager
