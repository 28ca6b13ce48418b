// SPDX-License-Identifier: Apache-2.0
// The registry of this process's queues, and the implementation of their handles.
#include <map>
#include <sinew/detail/queue_end.hpp>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/process/queue/client.hpp"
#include "src/process/queue/owner.hpp"

namespace sinew::process {
namespace {

using detail::Deadline;
using detail::QueueEnd;
class LocalEnd;
class RemoteEnd;

/// All queues that this process owns or has handles of.
struct QueueRegistry {
    struct Owned {
        std::shared_ptr<QueueOwner> queue;
        std::weak_ptr<LocalEnd> handle;
        bool travelled = false;
    };
    struct Known {
        std::shared_ptr<QueueClient> queue;
        std::weak_ptr<RemoteEnd> handle;
    };
    explicit QueueRegistry(Messenger& its);
    void message(std::shared_ptr<Peer> const& peer, Message const& message);
    void lost(std::shared_ptr<Peer> const& peer, std::string const& why);
    void ended();

    Messenger& messenger;
    std::uint64_t ids = 0;
    std::map<std::uint64_t, Owned> owned;
    std::map<std::pair<Peer const*, std::uint64_t>, Known> known;
};

[[noreturn]] void refuse_put() {
    throw QueueClosed(
        "a put into a closed queue (close() was called). Close it after the last put");
}

/// The part of a handle that does not depend on where the queue lives.
template <class Where>
class EndOf : public QueueEnd {
public:
    EndOf(QueueRegistry& registry, std::shared_ptr<Where> queue)
        : registry_(registry), queue_(std::move(queue)) {}
    bool put(Writer item, Deadline deadline) final {
        Lock lock(registry_.messenger.guard());
        if (queue_->put(lock, std::move(item), deadline)) return true;
        if (queue_->closed()) refuse_put();
        return false;
    }
    std::optional<QueueItem> take(Deadline deadline, bool acknowledge) final {
        Lock lock(registry_.messenger.guard());
        return queue_->take(lock, deadline, acknowledge);
    }
    void acknowledge(std::uint64_t ticket) final {
        auto const lock = registry_.messenger.lock();
        queue_->acknowledge(ticket);
    }
    void give_back(std::uint64_t ticket) final {
        if (Runtime::forked()) return;  // a destructor of Reserved: the item is the parent's
        auto const lock = registry_.messenger.lock();
        queue_->give_back(ticket);
    }
    void close() final {
        Lock const lock(registry_.messenger.guard());
        queue_->close();
    }

protected:
    QueueRegistry& registry_;
    std::shared_ptr<Where> const queue_;
};

/// Shared by the handles of a queue that lives in this process.
class LocalEnd final : public EndOf<QueueOwner> {
public:
    LocalEnd(QueueRegistry& registry, std::uint64_t id, std::shared_ptr<QueueOwner> queue)
        : EndOf(registry, std::move(queue)), id_(id) {}
    ~LocalEnd() override {
        if (Runtime::forked()) return;
        auto const lock = registry_.messenger.lock();
        auto const found = registry_.owned.find(id_);
        if (found == registry_.owned.end() || !found->second.handle.expired()) return;
        if (!found->second.travelled || (queue_->closed() && queue_->size() == 0))
            registry_.owned.erase(found);
    }
    std::size_t size() override {
        Lock const lock(registry_.messenger.guard());
        return queue_->size();
    }
    void encode_to(Writer& writer) override {
        auto const lock = registry_.messenger.lock();
        registry_.owned[id_].travelled = true;
        registry_.messenger.own_address().encode_to(writer);
        encode(writer, id_);
        encode(writer, static_cast<std::uint64_t>(queue_->bound()));
    }

private:
    std::uint64_t const id_;
};

/// Shared by the handles of a queue that lives in another process.
class RemoteEnd final : public EndOf<QueueClient> {
public:
    RemoteEnd(QueueRegistry& registry, ProcessAddress address, std::size_t bound,
              std::shared_ptr<QueueClient> queue)
        : EndOf(registry, std::move(queue)), address_(std::move(address)), bound_(bound) {}
    ~RemoteEnd() override {
        if (Runtime::forked()) return;
        auto const lock = registry_.messenger.lock();
        auto const found = registry_.known.find({queue_->peer(), queue_->id()});
        if (found != registry_.known.end() && found->second.queue == queue_)
            registry_.known.erase(found);
        queue_->leave();
    }
    std::size_t size() override {
        Lock lock(registry_.messenger.guard());
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

QueueRegistry::QueueRegistry(Messenger& its) : messenger(its) {
    messenger.serve(ServiceId::queue,
                    {[this](auto const& peer, Message const& each) { message(peer, each); },
                     [this](auto const& peer, std::string const& why) { lost(peer, why); },
                     [this] { ended(); }});
}

void QueueRegistry::message(std::shared_ptr<Peer> const& peer, Message const& message) {
    auto const id = message.head.id;
    if (message.head.op >= static_cast<std::uint16_t>(QueueOp::item)) {
        auto const found = known.find({peer.get(), id});
        if (found != known.end()) found->second.queue->message(message);
        return;
    }
    auto const found = owned.find(id);
    if (found != owned.end()) return found->second.queue->message(peer, message);
    if (message.head.op != static_cast<std::uint16_t>(QueueOp::leave))
        messenger.send(peer, {ServiceId::queue, static_cast<std::uint16_t>(QueueOp::gone), 0, id});
}

void QueueRegistry::lost(std::shared_ptr<Peer> const& peer, std::string const& why) {
    for (auto const& [id, each] : owned) each.queue->lost(peer);
    std::erase_if(known, [&](auto const& each) {
        if (each.first.first != peer.get()) return false;
        each.second.queue->lost(why);
        return true;
    });
}

void QueueRegistry::ended() {
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
    auto& registry = Messenger::service<QueueRegistry>();
    auto const lock = registry.messenger.lock();
    auto const id = ++registry.ids;
    auto& owned = registry.owned[id];
    owned.queue = std::make_shared<QueueOwner>(registry.messenger, id, bound);
    auto end = std::make_shared<LocalEnd>(registry, id, owned.queue);
    owned.handle = end;
    return end;
}

std::shared_ptr<QueueEnd> find_queue(Reader& reader) {
    auto address = ProcessAddress::decode_from(reader);
    auto const id = decode<std::uint64_t>(reader);
    auto const bound = static_cast<std::size_t>(decode<std::uint64_t>(reader));
    auto& registry = Messenger::service<QueueRegistry>();
    auto const lock = registry.messenger.lock();
    if (address.origin == registry.messenger.origin()) {
        auto const found = registry.owned.find(id);
        if (found == registry.owned.end())
            throw QueueClosed("a queue of this process that was closed, emptied and released");
        if (auto end = found->second.handle.lock()) return end;
        auto end = std::make_shared<LocalEnd>(registry, id, found->second.queue);
        found->second.handle = end;
        return end;
    }
    auto peer = registry.messenger.find(address);
    auto& known = registry.known[{peer.get(), id}];
    if (auto end = known.handle.lock()) return end;
    known.queue = std::make_shared<QueueClient>(registry.messenger, peer, address.name, id, bound);
    auto end = std::make_shared<RemoteEnd>(registry, std::move(address), bound, known.queue);
    known.handle = end;
    return end;
}

}  // namespace sinew::detail
