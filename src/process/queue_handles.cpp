// SPDX-License-Identifier: Apache-2.0
// The queues of this process, and the handles of queues in it.
#include <map>
#include <sinew/encoding.hpp>
#include <sinew/queue_end.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/process/queue_client.hpp"
#include "src/process/queue_owner.hpp"

namespace sinew::process {
namespace {

using detail::QueueDeadline;
using detail::QueueEnd;
class LocalEnd;
class RemoteEnd;

/// All of them. For ever, as the runtime.
struct Desk {
    struct Owned {
        std::shared_ptr<QueueOwner> queue;
        std::weak_ptr<LocalEnd> handle;
        bool travelled = false;
    };
    struct Known {
        std::shared_ptr<QueueClient> queue;
        std::weak_ptr<RemoteEnd> handle;
    };
    static Desk& instance();
    explicit Desk(Mail& its);
    void letter(std::shared_ptr<Peer> const& peer, Letter const& letter);
    void lost(std::shared_ptr<Peer> const& peer, std::string const& why);
    void ended();

    Mail& mail;
    std::uint64_t ids = 0;
    std::map<std::uint64_t, Owned> owned;
    std::map<std::pair<Peer const*, std::uint64_t>, Known> known;
};

[[noreturn]] void refuse_put() {
    throw QueueClosed(
        "a put into a closed queue (close() was called). Close it after the last put");
}

/// What the handles of a queue do alike, wherever it lives.
template <class Where>
class EndOf : public QueueEnd {
public:
    EndOf(Desk& desk, std::shared_ptr<Where> queue) : desk_(desk), queue_(std::move(queue)) {}
    bool put(Writer item, QueueDeadline deadline) final {
        Lock lock(desk_.mail.guard());
        if (queue_->put(lock, std::move(item), deadline)) return true;
        if (queue_->closed()) refuse_put();
        return false;
    }
    std::optional<QueueItem> take(QueueDeadline deadline, bool acknowledge) final {
        Lock lock(desk_.mail.guard());
        return queue_->take(lock, deadline, acknowledge);
    }
    void acknowledge(std::uint64_t ticket) final {
        auto const lock = desk_.mail.lock();
        queue_->acknowledge(ticket);
    }
    void give_back(std::uint64_t ticket) final {
        if (Runtime::forked()) return;  // a destructor of Reserved: the item is the parent's
        auto const lock = desk_.mail.lock();
        queue_->give_back(ticket);
    }
    void close() final {
        Lock const lock(desk_.mail.guard());
        queue_->close();
    }

protected:
    Desk& desk_;
    std::shared_ptr<Where> const queue_;
};

/// The handles of a queue that lives here.
class LocalEnd final : public EndOf<QueueOwner> {
public:
    LocalEnd(Desk& desk, std::uint64_t id, std::shared_ptr<QueueOwner> queue)
        : EndOf(desk, std::move(queue)), id_(id) {}
    ~LocalEnd() override {
        if (Runtime::forked()) return;
        auto const lock = desk_.mail.lock();
        auto const found = desk_.owned.find(id_);
        if (found == desk_.owned.end() || !found->second.handle.expired()) return;
        if (!found->second.travelled || (queue_->closed() && queue_->size() == 0))
            desk_.owned.erase(found);
    }
    std::size_t size() override {
        Lock const lock(desk_.mail.guard());
        return queue_->size();
    }
    void encode_to(Writer& writer) override {
        auto const lock = desk_.mail.lock();
        desk_.owned[id_].travelled = true;
        desk_.mail.own_address().encode_to(writer);
        encode(writer, id_);
        encode(writer, static_cast<std::uint64_t>(queue_->bound()));
    }

private:
    std::uint64_t const id_;
};

/// The handles of a queue that lives in another process.
class RemoteEnd final : public EndOf<QueueClient> {
public:
    RemoteEnd(Desk& desk, ProcessAddress address, std::size_t bound,
              std::shared_ptr<QueueClient> queue)
        : EndOf(desk, std::move(queue)), address_(std::move(address)), bound_(bound) {}
    ~RemoteEnd() override {
        if (Runtime::forked()) return;
        auto const lock = desk_.mail.lock();
        auto const found = desk_.known.find({queue_->peer(), queue_->id()});
        if (found != desk_.known.end() && found->second.queue == queue_) desk_.known.erase(found);
        queue_->leave();
    }
    std::size_t size() override {
        Lock lock(desk_.mail.guard());
        return queue_->size(lock);
    }
    void encode_to(Writer& writer) override {
        address_.encode_to(writer);
        encode(writer, queue_->id());
        encode(writer, static_cast<std::uint64_t>(bound_));
    }

private:
    ProcessAddress const address_;
    std::size_t const bound_;
};

Desk& Desk::instance() {
    auto& mail = Mail::instance();  // refuses forked processes
    auto const lock = mail.lock();
    static Desk* const desk = new Desk(mail);
    return *desk;
}

Desk::Desk(Mail& its) : mail(its) {
    mail.serve(MailService::queue,
               {[this](auto const& peer, Letter const& each) { letter(peer, each); },
                [this](auto const& peer, std::string const& why) { lost(peer, why); },
                [this] { ended(); }});
}

void Desk::letter(std::shared_ptr<Peer> const& peer, Letter const& letter) {
    auto const id = letter.head.id;
    if (letter.head.op >= static_cast<std::uint16_t>(QueueOp::item)) {
        auto const found = known.find({peer.get(), id});
        if (found != known.end()) found->second.queue->letter(letter);
        return;
    }
    auto const found = owned.find(id);
    if (found != owned.end()) return found->second.queue->letter(peer, letter);
    if (letter.head.op != static_cast<std::uint16_t>(QueueOp::leave))
        mail.send(peer, {MailService::queue, static_cast<std::uint16_t>(QueueOp::gone), 0, id});
}

void Desk::lost(std::shared_ptr<Peer> const& peer, std::string const& why) {
    for (auto const& [id, each] : owned) each.queue->lost(peer);
    std::erase_if(known, [&](auto const& each) {
        if (each.first.first != peer.get()) return false;
        each.second.queue->lost(why);
        return true;
    });
}

void Desk::ended() {
    for (auto const& [id, each] : owned) each.queue->ended();
    for (auto const& [key, each] : known) each.queue->ended();
}

}  // namespace
}  // namespace sinew::process

namespace sinew::detail {

using namespace process;

void QueueEnd::refuse_closed() const {
    throw QueueClosed("a get from a queue that is closed and empty (no item can come any more)");
}

std::shared_ptr<QueueEnd> make_queue(std::size_t bound) {
    auto& desk = Desk::instance();
    auto const lock = desk.mail.lock();
    auto const id = ++desk.ids;
    auto& owned = desk.owned[id];
    owned.queue = std::make_shared<QueueOwner>(desk.mail, id, bound);
    auto end = std::make_shared<LocalEnd>(desk, id, owned.queue);
    owned.handle = end;
    return end;
}

std::shared_ptr<QueueEnd> find_queue(Reader& reader) {
    auto address = ProcessAddress::decode_from(reader);
    auto const id = decode<std::uint64_t>(reader);
    auto const bound = static_cast<std::size_t>(decode<std::uint64_t>(reader));
    auto& desk = Desk::instance();
    auto const lock = desk.mail.lock();
    if (address.origin == desk.mail.origin()) {
        auto const found = desk.owned.find(id);
        if (found == desk.owned.end())
            throw QueueClosed("a queue of this process that was closed, emptied, and let go");
        if (auto end = found->second.handle.lock()) return end;
        auto end = std::make_shared<LocalEnd>(desk, id, found->second.queue);
        found->second.handle = end;
        return end;
    }
    auto peer = desk.mail.find(address);
    auto& known = desk.known[{peer.get(), id}];
    if (auto end = known.handle.lock()) return end;
    known.queue = std::make_shared<QueueClient>(desk.mail, peer, address.name, id, bound);
    auto end = std::make_shared<RemoteEnd>(desk, std::move(address), bound, known.queue);
    known.handle = end;
    return end;
}

QueueDeadline queue_deadline(std::chrono::nanoseconds timeout) {
    auto const now = QueueDeadline::clock::now();
    if (timeout.count() <= 0) return QueueDeadline::min();
    return timeout >= QueueDeadline::max() - now ? QueueDeadline::max() : now + timeout;
}

}  // namespace sinew::detail
