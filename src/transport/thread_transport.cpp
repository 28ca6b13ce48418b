// SPDX-License-Identifier: Apache-2.0
#include "src/transport/thread_transport.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <limits>
#include <list>
#include <mutex>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/base/waiting/polling_pause.hpp"

namespace sinew {

namespace {

/// One side of a transfer, owned by its ticket. While it is unmatched an inbox points to it, too.
/// The thread that removes it from the inbox (under the lock) copies the bytes, sets `done`, and
/// does not access the transfer afterwards.
struct Transfer {
    int inbox;  ///< rank in whose inbox it waits: the receiver
    int peer;   ///< receive: the rank it is from, or any_source; send: the sender
    int tag;
    std::byte* to;          ///< receive only
    std::byte const* from;  ///< send only; never null there
    std::size_t bytes;
    Transport::Received received;
    std::atomic<bool> done;
};

/// A message that came before its receive: a copy of its bytes, or a sender that waits.
struct SentMessage {
    int source;
    int tag;
    std::size_t bytes;
    Transfer* sender = nullptr;
    std::unique_ptr<std::byte[]> copy;
};

bool matches(int wanted_source, int wanted_tag, int source, int tag) {
    return wanted_tag == tag && (wanted_source == source || wanted_source == any_source);
}

/// Completes a receive. If the message does not fit, test() throws because of its size.
void deliver(Transfer& receive, std::byte const* from, Transport::Received const& what) {
    if (what.bytes <= receive.bytes && what.bytes > 0) std::memcpy(receive.to, from, what.bytes);
    receive.received = what;
    receive.done.store(true, std::memory_order_release);
}

struct Inbox {
    std::mutex mutex;
    std::deque<Transfer*> receives;    // posted and unmatched, oldest first
    std::deque<SentMessage> messages;  // arrived and unmatched, oldest first

    auto find_message(int from, int tag) {
        return std::find_if(messages.begin(), messages.end(), [=](SentMessage const& message) {
            return matches(from, tag, message.source, message.tag);
        });
    }
    auto find_receive(int source, int tag) {
        return std::find_if(receives.begin(), receives.end(), [=](Transfer const* receive) {
            return matches(receive->peer, receive->tag, source, tag);
        });
    }
    /// Removes a transfer from the inbox; returns false if it was matched already.
    bool withdraw(Transfer const& transfer) {
        std::scoped_lock const lock(mutex);
        return std::erase(receives, &transfer) > 0 ||
               std::erase_if(messages,
                             [&](SentMessage const& m) { return m.sender == &transfer; }) > 0;
    }
};

Transfer* thread_transfer_of(Transport::Ticket ticket) {
    return reinterpret_cast<Transfer*>(static_cast<std::uintptr_t>(ticket.handle));
}

Transport::Ticket ticket_of(std::unique_ptr<Transfer> transfer) {
    return {reinterpret_cast<std::uintptr_t>(transfer.release())};
}

}  // namespace

namespace detail {

/// The state that all contexts of one hub share, by rank of the hub.
class ThreadJob {
public:
    explicit ThreadJob(int ranks) : lost(static_cast<std::size_t>(ranks)) {}
    std::vector<std::atomic<bool>> lost;
};

/// The messages of one group of ranks. It lives as long as a transport of the group.
class ThreadContext {
public:
    ThreadContext(std::shared_ptr<ThreadJob> job_, std::vector<int> members_)
        : job(std::move(job_)), members(std::move(members_)), inboxes_(members.size()) {}

    Inbox& inbox(int rank) { return inboxes_[static_cast<std::size_t>(rank)]; }
    int size() const { return static_cast<int>(members.size()); }

    /// Returns the context of `list` (ranks of this one), of which the calling rank is the
    /// `index`th. The first member to call makes it; the last removes it from splits_. Thread-safe.
    std::shared_ptr<ThreadContext> child(std::span<int const> list, std::size_t index) {
        std::scoped_lock const lock(mutex_);
        auto split = std::find_if(splits_.begin(), splits_.end(), [&](Split const& other) {
            return std::ranges::equal(other.list, list) && !other.joined[index];
        });
        if (split == splits_.end()) {
            std::vector<int> of_job;
            for (int const rank : list) of_job.push_back(members[static_cast<std::size_t>(rank)]);
            split =
                splits_.insert(split, {{list.begin(), list.end()},
                                       std::vector<bool>(list.size()),
                                       0,
                                       std::make_shared<ThreadContext>(job, std::move(of_job))});
        }
        split->joined[index] = true;
        auto context = split->context;
        if (++split->count == list.size()) splits_.erase(split);
        return context;
    }

    std::shared_ptr<ThreadJob> const job;
    std::vector<int> const members;  // ranks of the job

private:
    struct Split {
        std::vector<int> list;
        std::vector<bool> joined;
        std::size_t count;
        std::shared_ptr<ThreadContext> context;
    };
    std::vector<Inbox> inboxes_;
    std::mutex mutex_;
    std::list<Split> splits_;
};

}  // namespace detail

ThreadHub::ThreadHub(int ranks) {
    if (ranks < 1) throw UsageError(text("thread hub of ", ranks, " ranks (must be at least 1)."));
    std::vector<int> members;
    for (int rank = 0; rank < ranks; ++rank) members.push_back(rank);
    job_ = std::make_shared<detail::ThreadJob>(ranks);
    context_ = std::make_shared<detail::ThreadContext>(job_, std::move(members));
}

int ThreadHub::size() const { return context_->size(); }

void ThreadHub::lose(int rank) {
    job_->lost.at(static_cast<std::size_t>(rank)).store(true, std::memory_order_release);
}

ThreadTransport::ThreadTransport(ThreadHub& hub, int rank) : ThreadTransport(hub.context_, rank) {
    if (rank < 0 || rank >= hub.size())
        throw UsageError(text("rank ", rank, " (the hub has ranks 0 to ", hub.size() - 1, ")."));
}

ThreadTransport::ThreadTransport(std::shared_ptr<detail::ThreadContext> context, int rank)
    : context_(std::move(context)), rank_(rank) {}

ThreadTransport::~ThreadTransport() = default;

int ThreadTransport::size() const { return context_->size(); }

int ThreadTransport::max_tag() const { return std::numeric_limits<int>::max(); }

void ThreadTransport::check(int peer, int tag, char const* verb) const {
    if (peer < 0 || peer >= size() || tag < 0)
        throw UsageError(text("rank ", rank_, " of ", size(), " cannot ", verb, " rank ", peer,
                              " with tag ", tag, " (ranks are 0 to ", size() - 1,
                              ", tags are not negative)."));
}

Transport::Ticket ThreadTransport::start_send(int to, int tag, std::span<std::byte const> bytes) {
    check(to, tag, "send to");
    Received const what{rank_, tag, bytes.size()};
    Inbox& inbox = context_->inbox(to);
    std::unique_lock lock(inbox.mutex);
    if (auto const found = inbox.find_receive(rank_, tag); found != inbox.receives.end()) {
        Transfer& receive = **found;
        inbox.receives.erase(found);
        lock.unlock();
        deliver(receive, bytes.data(), what);
        return {};
    }
    SentMessage message{rank_, tag, bytes.size(), nullptr, nullptr};
    if (bytes.size() <= eager_bytes) {
        if (!bytes.empty()) {
            message.copy = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
            std::memcpy(message.copy.get(), bytes.data(), bytes.size());
        }
        inbox.messages.push_back(std::move(message));
        return {};
    }
    std::unique_ptr<Transfer> send(
        new Transfer{to, rank_, tag, nullptr, bytes.data(), bytes.size(), {}, false});
    message.sender = send.get();
    inbox.messages.push_back(std::move(message));
    return ticket_of(std::move(send));
}

Transport::Ticket ThreadTransport::start_receive(int from, int tag, std::span<std::byte> bytes) {
    check(from == any_source ? rank_ : from, tag, "receive from");
    std::unique_ptr<Transfer> receive(
        new Transfer{rank_, from, tag, bytes.data(), nullptr, bytes.size(), {}, false});
    Inbox& inbox = context_->inbox(rank_);
    std::unique_lock lock(inbox.mutex);
    auto const found = inbox.find_message(from, tag);
    if (found == inbox.messages.end()) {
        inbox.receives.push_back(receive.get());
        return ticket_of(std::move(receive));
    }
    SentMessage const message = std::move(*found);
    inbox.messages.erase(found);
    lock.unlock();
    std::byte const* const source = message.sender ? message.sender->from : message.copy.get();
    deliver(*receive, source, {message.source, message.tag, message.bytes});
    if (message.sender) message.sender->done.store(true, std::memory_order_release);
    return ticket_of(std::move(receive));
}

bool ThreadTransport::test(Ticket& ticket, Received* received) {
    if (!ticket) return true;
    if (!thread_transfer_of(ticket)->done.load(std::memory_order_acquire)) return false;
    std::unique_ptr<Transfer> const transfer(thread_transfer_of(ticket));
    ticket = {};
    if (transfer->from) return true;
    Received const& got = transfer->received;
    if (got.bytes > transfer->bytes)
        throw BackendError(text("rank ", rank_, " of ", size(), ": the message of ", got.bytes,
                                " bytes from rank ", got.source, " with tag ", got.tag,
                                " is longer than the receive of ", transfer->bytes,
                                " bytes. Do both ranks make the same calls?"),
                           0);
    if (received) *received = got;
    return true;
}

void ThreadTransport::cancel(Ticket& ticket) noexcept {
    if (!ticket) return;
    std::unique_ptr<Transfer> const transfer(thread_transfer_of(ticket));
    ticket = {};
    if (context_->inbox(transfer->inbox).withdraw(*transfer)) return;
    while (!transfer->done.load(std::memory_order_acquire)) pause_between_polls();  // a memcpy
}

bool ThreadTransport::withdraw(Ticket& ticket) noexcept {
    Transfer* const transfer = thread_transfer_of(ticket);
    if (!ticket || transfer->from || !context_->inbox(transfer->inbox).withdraw(*transfer))
        return false;
    ticket = {};
    delete transfer;
    return true;
}

std::optional<Transport::Received> ThreadTransport::probe(int from, int tag) {
    check(from == any_source ? rank_ : from, tag, "probe");
    Inbox& inbox = context_->inbox(rank_);
    std::scoped_lock const lock(inbox.mutex);
    auto const found = inbox.find_message(from, tag);
    if (found == inbox.messages.end()) return std::nullopt;
    return Received{found->source, found->tag, found->bytes};
}

std::vector<int> ThreadTransport::lost() {
    std::vector<int> ranks;
    for (int rank = 0; rank < size(); ++rank) {
        auto const of_job =
            static_cast<std::size_t>(context_->members[static_cast<std::size_t>(rank)]);
        if (context_->job->lost[of_job].load(std::memory_order_acquire)) ranks.push_back(rank);
    }
    return ranks;
}

std::unique_ptr<Transport> ThreadTransport::split(std::span<int const> members, std::uint64_t) {
    auto const me = std::ranges::find(members, rank_);
    if (me == members.end())
        throw UsageError(text("rank ", rank_, " of ", size(), " is not among the ", members.size(),
                              " members of its split."));
    for (int const member : members) check(member, 0, "split with");
    auto const index = static_cast<std::size_t>(me - members.begin());
    return std::unique_ptr<Transport>(
        new ThreadTransport(context_->child(members, index), static_cast<int>(index)));
}

}  // namespace sinew
