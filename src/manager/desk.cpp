// SPDX-License-Identifier: Apache-2.0
#include "src/manager/desk.hpp"

#include <sinew/error.hpp>
#include <sinew/reply.hpp>

#include "src/base/text.hpp"
#include "src/manager/object.hpp"

namespace sinew::manager {
namespace {

Desk* the_desk = nullptr;

}  // namespace

Desk& Desk::instance() {
    auto& mail = process::Mail::instance();  // refuses forked processes
    auto const lock = mail.lock();
    if (the_desk == nullptr) the_desk = new Desk(mail);  // for ever, as the runtime
    return *the_desk;
}

Desk& Desk::existing() { return *the_desk; }

bool Desk::knows(Connection& connection, ObjectId id) const {
    auto const found = objects_.find({&connection, id});
    return found != objects_.end() && !found->second.expired();
}

Desk::Desk(process::Mail& mail) : mail_(mail) {
    mail_.serve(process::MailService::manager,
                {[this](auto const& peer, process::Letter const& each) { letter(peer, each); },
                 [this](auto const& peer, std::string const& why) { lost(peer, why); }, [] {}});
}

Server& Desk::serve() {
    if (!server_)
        server_ = std::make_unique<Server>(
            mail_, [this](process::Letter const& letter) { here_->letter(letter); });
    return *server_;
}

std::shared_ptr<Connection> Desk::connection(process::ProcessAddress const& address,
                                             std::size_t most_pending,
                                             std::shared_ptr<Line const> line) {
    if (address.origin == mail_.origin()) {
        if (!here_)
            here_ = std::make_shared<Connection>(mail_, address, nullptr, &serve(), most_pending,
                                                 std::move(line));
        return here_;
    }
    if (auto const connection = known(address)) return connection;
    auto const peer = mail_.find(address);
    auto& found = connections_[peer.get()];
    if (!found) found = std::make_shared<Connection>(mail_, address, peer, nullptr, most_pending);
    if (line && !found->line()) found->set_line(std::move(line));
    return found;
}

std::shared_ptr<Connection> Desk::here() {
    constexpr std::size_t most_pending = 10'000;
    return here_ ? here_ : connection(mail_.own_address(), most_pending);
}

// A handle of a manager of another family says where that lets guests in, not the key; and handles that
// come from there name addresses that are for that family.
std::shared_ptr<Connection> Desk::known(process::ProcessAddress const& address) const {
    if (!has_hosts_ && !address.is_of_guest()) return nullptr;
    for (auto const& [peer, connection] : connections_)
        if (connection->address().origin == address.origin) return connection;
    if (!address.is_of_guest()) return nullptr;
    throw UsageError(text("a handle of an object in ", address.name,
                          ", a manager of another family at ",
                          address.addresses.empty() ? "?" : address.addresses.front(),
                          ", has come to a process that does not know it. Let this process call "
                          "Manager::connect with its address and key first"));
}

std::shared_ptr<Connection> Desk::host(std::string const& address, wire::Secret const& key,
                                       std::chrono::nanoseconds patience,
                                       std::size_t most_pending) {
    auto const peer = mail_.runtime().host(address, key, patience);
    auto& found = connections_[peer.get()];
    has_hosts_ = true;
    if (!found)
        found = std::make_shared<Connection>(
            mail_, process::ProcessAddress::of_host(text("the manager at ", address), address),
            peer, nullptr, most_pending);
    return found;
}

std::shared_ptr<detail::ObjectEnd> Desk::object(std::shared_ptr<Connection> const& connection,
                                                ObjectId id, char const* type, bool held) {
    auto& known = objects_[{connection.get(), id}];
    if (auto object = known.lock()) return object;
    auto object = std::make_shared<RemoteObject>(*this, connection, id, type);
    known = object;
    if (!held) connection->tell(Op::hold, id);
    return object;
}

void Desk::letter(std::shared_ptr<process::Peer> const& peer, process::Letter const& letter) {
    if (is_answer(letter.head.op)) {
        auto const found = connections_.find(peer.get());
        if (found != connections_.end()) found->second->letter(letter);
    } else if (is_for_maker(letter.head.op)) {
        if (peer->kinship() == process::Kinship::family) to_maker(peer, letter);
    } else if (server_ && peer->kinship() != process::Kinship::host) {
        server_->letter(peer, letter);
    }
}

void Desk::to_maker(std::shared_ptr<process::Peer> const& peer, process::Letter const& letter) {
    auto const found = makers_.find(letter.head.id);
    if (found != makers_.end()) return found->second->letter(peer, letter);
    if (static_cast<Op>(letter.head.op) != Op::where) return;
    mail_.send(peer, head(Op::ended, 0, letter.head.number),
               bytes_of("the manager is gone for good (it was shut down by its maker)"));
}

std::shared_ptr<Maker> Desk::add_maker(Maker::Options options, std::unique_ptr<LedgerFolder> folder,
                                       Maker::Hands hands) {
    auto const lineage = ++lineages_;
    auto maker = std::make_shared<Maker>(mail_, lineage, std::move(options), std::move(folder),
                                         std::move(hands));
    makers_.emplace(lineage, maker);
    return maker;
}

Place Desk::place_after(Lock& lock, Line const& lost, Clock::time_point deadline) {
    if (lost.maker.origin == mail_.origin()) {
        auto const found = makers_.find(lost.lineage);
        if (found == makers_.end())
            throw ObjectLost("the manager is gone for good (it was shut down)", false);
        auto const maker = found->second;  // it may be removed meanwhile
        return maker->wait_for_place(lock, lost.incarnation, deadline);
    }
    constexpr std::size_t most_questions = 1000;
    auto const maker = connection(lost.maker, most_questions);
    std::uint64_t const incarnation = lost.incarnation;
    auto const asked = maker->ask(lock, Op::where, lost.lineage, process::bytes_of(incarnation));
    lock.unlock();
    bool const in_time = asked->wait_until(deadline);
    if (!in_time)
        throw Timeout(text("the manager has not been started anew in time, as far as its maker (",
                           maker->name(), ") has said. Wait longer: see Object::refresh"));
    lock.lock();
    if (asked->failed() && maker->is_lost())
        throw ObjectLost(text("the manager is gone for good (its maker, ", maker->name(),
                              ", is not to be reached any more)"),
                         false);
    auto reader = asked->result();
    return Place::decode_from(reader);
}

void Desk::lost(std::shared_ptr<process::Peer> const& peer, std::string const& why) {
    if (server_) server_->lost(peer);
    auto const found = connections_.find(peer.get());
    if (found == connections_.end()) return;
    auto const connection = found->second;
    connections_.erase(found);
    connection->lost(why);
}

}  // namespace sinew::manager
