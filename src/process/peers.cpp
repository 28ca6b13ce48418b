// SPDX-License-Identifier: Apache-2.0
#include "src/process/peers.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"
#include "src/process/rpc/message.hpp"

namespace sinew::process {
namespace {

// A process listens before it publishes its address; but packets between hosts may be lost.
constexpr auto patience_here = std::chrono::seconds(1),
               patience_elsewhere = std::chrono::seconds(10);

// Whether the owner of the socket's private folder has ended or is ending: its lock is free.
bool owner_is_gone(std::string const& socket) {
    auto const folder = std::filesystem::path(socket).parent_path();
    UniqueFd const lock(::open((folder / "lock").c_str(), O_RDWR | O_CLOEXEC));
    return lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) == 0;
}

}  // namespace

wire::LinkOptions peer_options(bool same_host) {
    wire::LinkOptions options{.max_frame = (std::size_t{1} << 30) + (std::size_t{1} << 20),
                              .least_peer_frame = largest_message_frame};
    if (same_host) {
        options.heartbeat = {};
        options.suspect_after = {};
        options.dead_after = {};
    }
    return options;
}

/// A peer whose link is connected or being dialed.
class Peers::LinkedPeer final : public Peer, public std::enable_shared_from_this<LinkedPeer> {
public:
    /// `origin`: the process to connect to; 0: any.
    LinkedPeer(Peers& peers, std::string name, PeerTrust trust, std::uint64_t origin = 0,
               std::shared_ptr<MemoryBudget> budget = nullptr)
        : peers_(peers), name_(std::move(name)), trust_(trust), origin_(origin),
          budget_(std::move(budget)) {}

    wire::Flow send(std::uint8_t kind,
                    std::initializer_list<std::span<std::byte const>> parts) override;
    wire::Flow send_now(std::uint8_t kind,
                        std::initializer_list<std::span<std::byte const>> parts) override {
        return link_ && !lost_ ? link_->send_now(kind, 0, parts) : send(kind, parts);
    }
    void flush() override {
        if (link_) link_->flush();
    }
    bool lost() const override { return lost_; }
    std::string const& name() const override { return name_; }
    PeerTrust trust() const override { return trust_; }
    void drop(std::string const& why) override;
    std::shared_ptr<MemoryBudget> budget() const override { return budget_; }
    std::size_t queued() const override { return link_ ? link_->queued() : waiting_bytes_; }

    void dial(std::vector<wire::Address> addresses);
    void dial_host(wire::Address const& address, wire::Secret const& key,
                   std::chrono::nanoseconds patience);
    void connected(std::unique_ptr<wire::Link> link);

private:
    struct Waiting {
        std::uint8_t kind;
        std::vector<std::byte> bytes;
    };
    void try_next(std::string const& why);
    void end(std::string const& why);

    Peers& peers_;
    std::string name_;
    PeerTrust const trust_;
    std::uint64_t const origin_;  ///< the process to connect to; 0: any
    std::shared_ptr<MemoryBudget> const budget_;
    std::unique_ptr<wire::Link> link_;
    std::vector<wire::Address> addresses_;  ///< not tried yet; the next one is last
    wire::Loop::Handle dialling_;
    std::vector<Waiting> waiting_;
    std::size_t waiting_bytes_ = 0;
    bool full_ = false;  ///< `send` returned `full` before there was a link
    bool lost_ = false;
};

wire::Flow Peers::LinkedPeer::send(std::uint8_t kind,
                                   std::initializer_list<std::span<std::byte const>> parts) {
    if (lost_) return wire::Flow::go;
    if (link_) return link_->send(kind, 0, parts);
    Waiting message{kind, {}};
    for (auto const part : parts)
        message.bytes.insert(message.bytes.end(), part.begin(), part.end());
    waiting_bytes_ += message.bytes.size();
    waiting_.push_back(std::move(message));
    if (waiting_bytes_ <= peer_options(true).high_water) return wire::Flow::go;
    full_ = true;
    return wire::Flow::full;
}

void Peers::LinkedPeer::dial(std::vector<wire::Address> addresses) {
    addresses_ = std::move(addresses);
    // Deferred: the caller must have the peer before the services are told of its loss.
    dialling_ = peers_.loop_.after({}, [this] {
        auto const self = shared_from_this();
        try_next(text(name_, " has ended, or cannot be reached from this host"));
    });
}

void Peers::LinkedPeer::try_next(std::string const& why) {
    dialling_ = {};
    if (addresses_.empty()) return end(why);
    auto const address = std::move(addresses_.back());
    addresses_.pop_back();
    bool const same_host = address.family == wire::Address::Family::unix_socket;
    auto credentials = peers_.credentials_;
    credentials.expected_origin = origin_;
    dialling_ =
        wire::dial(peers_.loop_, address, credentials, peer_options(same_host),
                   same_host ? patience_here : patience_elsewhere, [this](wire::Dialled dialled) {
                       auto const self = shared_from_this();
                       if (dialled.link) connected(std::move(dialled.link));
                       else try_next(dialled.error);
                   });
}

void Peers::LinkedPeer::dial_host(wire::Address const& address, wire::Secret const& key,
                                  std::chrono::nanoseconds patience) {
    bool const same_host = address.family == wire::Address::Family::unix_socket;
    dialling_ = wire::dial(peers_.loop_, address, {key, peers_.credentials_.self},
                           peer_options(same_host), patience, [this](wire::Dialled dialled) {
                               auto const self = shared_from_this();
                               dialling_ = {};
                               if (dialled.link) connected(std::move(dialled.link));
                               else end(dialled.error);
                           });
}

void Peers::LinkedPeer::connected(std::unique_ptr<wire::Link> link) {
    dialling_ = {};
    link_ = std::move(link);
    name_ = link_->peer().name;
    link_->on(
        {.message =
             [this](wire::Message const& message) { peers_.deliver(shared_from_this(), message); },
         .end = [this](wire::LinkEnd const& end_) { end(end_.text); },
         .drained = [this] { peers_.tell_drained(shared_from_this()); }});
    auto flow = wire::Flow::go;
    for (auto const& message : std::exchange(waiting_, {}))
        flow = link_->send(message.kind, 0, {message.bytes});
    waiting_bytes_ = 0;
    if (std::exchange(full_, false) && flow == wire::Flow::go)
        peers_.tell_drained(shared_from_this());
}

void Peers::LinkedPeer::drop(std::string const& why) {
    if (lost_) return;
    log_warning(text(name_, " is disconnected: ", why));
    end(why);
}

void Peers::LinkedPeer::end(std::string const& why) {
    auto const self = shared_from_this();
    lost_ = true;
    dialling_ = {};
    link_ = nullptr;
    waiting_.clear();
    peers_.forget(self, why);
}

Peers::Peers(wire::Loop& loop, wire::Credentials credentials, std::string host)
    : loop_(loop), credentials_(std::move(credentials)), host_(std::move(host)) {}

Peers::~Peers() = default;

void Peers::add(std::unique_ptr<wire::Link> link, PeerTrust trust,
                std::shared_ptr<MemoryBudget> budget) {
    auto peer = std::make_shared<LinkedPeer>(*this, "", trust, 0, std::move(budget));
    accepted_.insert(peer);
    peer->connected(std::move(link));
}

std::shared_ptr<Peer> Peers::find_or_dial(std::string const& host,
                                          std::vector<std::string> const& addresses,
                                          std::uint64_t origin) {
    if (addresses.empty())
        throw UsageError("a process without addresses (none given). Take them from addresses()");
    // The origin is part of the key: a process that has ended may have had the same port.
    auto const key = text(addresses.front(), " of ", origin);
    if (auto const known = dialled_.find(key); known != dialled_.end()) return known->second;
    auto places = usable(host, addresses);
    auto peer = std::make_shared<LinkedPeer>(*this, text("process at ", addresses.front()),
                                             PeerTrust::same_session, origin);
    peer->dial(std::move(places));
    dialled_.emplace(key, peer);
    return peer;
}

std::shared_ptr<Peer> Peers::find_or_dial_host(wire::Address const& address,
                                               wire::Secret const& key,
                                               std::chrono::nanoseconds patience) {
    // A caller with another key must not get a link that was authenticated with this one.
    auto const place = text(address.text(), " by key ", key.derive("guest of").hex());
    if (auto const known = dialled_.find(place); known != dialled_.end()) return known->second;
    auto peer = std::make_shared<LinkedPeer>(*this, text("process at ", address.text()),
                                             PeerTrust::outbound_server);
    peer->dial_host(address, key, patience);
    dialled_.emplace(place, peer);
    return peer;
}

std::vector<wire::Address> Peers::usable(std::string const& host,
                                         std::vector<std::string> const& addresses) const {
    std::vector<wire::Address> found;
    for (auto const& word : addresses) {
        auto address = wire::Address::parse(word);
        if (address.family == wire::Address::Family::tcp) {
            found.insert(found.begin(), std::move(address));
        } else if (host == host_ && ::access(address.host.c_str(), F_OK) == 0 &&
                   !owner_is_gone(address.host)) {
            found.push_back(std::move(address));
        }
    }
    return found;
}

void Peers::deliver(std::shared_ptr<LinkedPeer> const& peer, wire::Message const& message) {
    bool const is_of_messenger = message.kind >= kinds::queue && message.kind <= kinds::queue_last;
    // Processes of other sessions may send messages to the messenger only.
    if (peer->trust() != PeerTrust::same_session && !is_of_messenger)
        return peer->drop(text("it sent a message of kind ", +message.kind));
    for (std::size_t i = 0; i < services_.size(); ++i) {
        auto const& service = services_[i];
        if (message.kind >= service.first_kind && message.kind <= service.last_kind)
            return service.message(peer, message);
    }
    if (unknown_kinds_.insert(message.kind).second)
        log_warning(text(peer->name(), " sent a message of kind ", +message.kind,
                         ", which nothing in this process handles"));
}

void Peers::tell_drained(std::shared_ptr<LinkedPeer> const& peer) {
    for (std::size_t i = 0; i < services_.size(); ++i) services_[i].drained(peer);
}

void Peers::forget(std::shared_ptr<LinkedPeer> const& peer, std::string const& why) {
    accepted_.erase(peer);
    std::erase_if(dialled_, [&](auto const& each) { return each.second == peer; });
    for (std::size_t i = 0; i < services_.size(); ++i) services_[i].lost(peer, why);
}

}  // namespace sinew::process
