// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sinew/detail/queue_end.hpp>
#include <vector>

#include "src/process/queue/item_arena.hpp"
#include "src/process/rpc/messenger.hpp"

namespace sinew::process {

using detail::QueueItem;

/// Operations in messages of queues: to the owner's process, and from there.
enum class QueueOp : std::uint16_t {
    put,         ///< an item
    put_ask,     ///< an item for a bounded queue; answered by `put_done`
    put_try,     ///< the same, without waiting
    put_cancel,  ///< the writer no longer waits; answered by `put_done`
    demand,      ///< QueueDemand, and the numbers of acknowledged items
    give_back,   ///< numbers of items that were not taken
    answer,      ///< to `recall`: the same, for all items there
    try_take,    ///< answered by `tried`
    size,        ///< answered by `size_is`
    close,
    leave,  ///< the process has no handles any longer

    item = 32,  ///< number: its position in the sequence of items sent there
    put_done,   ///< a byte: 0 no room, 1 it is in, 2 closed
    tried,      ///< the position of the item that was sent before; 0: none
    size_is,
    recall,   ///< give back the items that are not taken yet
    closed,   ///< no more puts
    drained,  ///< closed and empty: do not wait
    gone,     ///< there is no such queue
};

/// How far the owner may send items to a reader's process: the positions of the last item that a
/// thread there waits for, and of the last that it wants ahead.
struct QueueDemand {
    std::uint64_t need = 0, limit = 0;
};

/// A queue in the process where it lives. Requires: guard held.
class QueueOwner {
public:
    QueueOwner(Messenger& messenger, std::uint64_t id, std::size_t bound)
        : messenger_(messenger), id_(id), bound_(bound) {}
    QueueOwner(QueueOwner const&) = delete;

    bool put(Lock& lock, Writer item, Clock::time_point deadline);
    std::optional<QueueItem> take(Lock& lock, Clock::time_point deadline, bool acknowledge);
    void acknowledge(std::uint64_t ticket);
    void give_back(std::uint64_t ticket);
    std::size_t size() const { return items_.size() + unacknowledged_; }
    bool closed() const { return closed_; }
    std::size_t bound() const { return bound_; }
    void close();

    void message(std::shared_ptr<Peer> const& peer, Message const& message);
    void lost(std::shared_ptr<Peer> const& peer);
    void ended();

private:
    struct Consumer;
    /// A waiting reader: a thread here, or another process.
    struct Claim {
        Consumer* consumer = nullptr;
        std::optional<QueueItem> item{};
        bool drained = false;
        std::condition_variable changed{};
    };
    /// An item that was sent to a process.
    struct Sent {
        QueueItem item;
        bool wanted = false;  ///< a thread there waits for it
        bool done = false;    ///< acknowledged or given back
    };
    struct Consumer {
        std::shared_ptr<Peer> peer;
        std::uint32_t epoch = 0;      ///< of the other process's handles
        std::uint64_t delivered = 0;  ///< position of the last item
        std::uint64_t answered = 0;   ///< up to this position no item is left there
        QueueDemand demand{};
        std::deque<Sent> sent{};  ///< positions delivered - size + 1 to delivered
        std::size_t bytes = 0;    ///< of those that are not done
        bool recalling = false;
        enum class Place { none, waiting, eager } place = Place::none;
        Claim claim{};
    };
    /// An item that waits for room.
    struct Pending {
        std::shared_ptr<Peer> writer;  ///< null: a thread here
        std::uint64_t call = 0;
        QueueItem item{};
        bool done = false;
        std::condition_variable changed{};
    };

    static QueueItem keep(Writer writer);
    bool full() const { return bound_ != 0 && size() >= bound_; }
    void admit();
    void enqueue(QueueItem item);
    void dispatch();
    void serve_first();
    void call_back();
    bool recall();
    void deliver(Consumer& consumer);
    void place(Consumer& consumer);
    void unplace(Consumer& consumer);
    Consumer& consumer(std::shared_ptr<Peer> const& peer, std::uint32_t epoch);
    void message_of(Consumer& reader, Message const& message);
    void remote_put(std::shared_ptr<Peer> const& peer, Message const& message);
    void cancel_put(std::shared_ptr<Peer> const& peer, std::uint64_t call);
    void demand(Consumer& consumer, std::span<std::byte const> bytes);
    void try_take(Consumer& consumer, std::uint64_t call);
    void take_back(Consumer& consumer, std::span<std::byte const> bytes);
    static std::vector<std::uint64_t> places(Consumer const& reader,
                                             std::span<std::byte const> bytes);
    std::optional<QueueItem> finish(Consumer& consumer, std::uint64_t place);
    void send(std::shared_ptr<Peer> const& peer, QueueOp op, MessageHeader head = {},
              std::span<std::byte const> bytes = {}, std::shared_ptr<void const> keeper = nullptr);

    Messenger& messenger_;
    std::uint64_t const id_;
    std::size_t const bound_;
    bool closed_ = false;
    std::deque<QueueItem> items_;
    std::size_t unacknowledged_ = 0;  ///< items sent to other processes, or reserved here
    std::map<std::uint64_t, QueueItem> reserved_;  ///< here, by ticket
    std::uint64_t tickets_ = 0;
    std::map<Peer*, std::unique_ptr<Consumer>> consumers_;
    std::set<std::shared_ptr<Peer>> writers_;
    Peer* last_writer_ = nullptr;
    std::deque<Claim*> waiting_;    ///< served in the order of their calls
    std::deque<Consumer*> eager_;   ///< those that want items ahead, in turns
    std::deque<Pending*> pending_;  ///< those of other processes are owned by this queue
    ItemArena arena_;
};

}  // namespace sinew::process
