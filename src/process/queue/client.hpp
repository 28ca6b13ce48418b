// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/process/queue/owner.hpp"

namespace sinew::process {

/// A queue as seen by a process in which it does not live. Requires: guard held.
class QueueClient {
public:
    QueueClient(Messenger& messenger, std::shared_ptr<Peer> owner, std::string name,
                std::uint64_t id, std::size_t bound);
    QueueClient(QueueClient const&) = delete;

    bool put(Lock& lock, Writer const& item, Clock::time_point deadline);
    std::optional<QueueItem> take(Lock& lock, Clock::time_point deadline, bool acknowledge);
    void acknowledge(std::uint64_t ticket);
    void give_back(std::uint64_t ticket);
    std::size_t size(Lock& lock);
    bool closed() const { return closed_; }
    void close();
    /// Called when the last handle in this process is destroyed.
    void leave();

    void message(Message const& message);
    void lost(std::string const& why);
    void ended();
    Peer const* peer() const { return owner_.get(); }
    std::uint64_t id() const { return id_; }

private:
    /// An item and its position in the sequence.
    struct Slot {
        QueueItem item;
        enum class State { missing, here, returned } state = State::missing;
    };
    /// A call that waits for its answer.
    struct Call {
        std::optional<std::uint64_t> answer{};
        std::condition_variable changed{};
    };

    void check() const;
    /// Returns nothing if no answer came by the deadline. Throws PeerLost.
    std::optional<std::uint64_t> ask(Lock& lock, QueueOp op, std::uint64_t number,
                                     Clock::time_point deadline);
    [[noreturn]] void throw_silent() const;
    void answer(Message const& message);
    bool ask_for_room(Lock& lock, Writer const& item, Clock::time_point deadline);
    std::optional<QueueItem> pop(bool acknowledge);
    std::optional<QueueItem> wait_for_item(Lock& lock, Clock::time_point deadline,
                                           bool acknowledge);
    std::optional<QueueItem> try_take(Lock& lock, bool acknowledge);
    bool available();
    void note_pace(Clock::time_point now);
    void arrived(Message const& message);
    void tell(bool force);
    void acknowledge_soon();
    void return_untaken();
    void send(QueueOp op, std::uint64_t number = 0, std::span<std::byte const> bytes = {});
    MessageHeader head(QueueOp op, std::uint64_t number) const {
        return {ServiceId::queue, static_cast<std::uint16_t>(op), epoch_, id_, number};
    }

    Messenger& messenger_;
    std::shared_ptr<Peer> owner_;
    std::string name_;  ///< of the owner
    std::uint64_t const id_;
    std::size_t const bound_;
    std::uint32_t const epoch_;  ///< distinguishes this use of the queue from earlier ones here
    std::string why_lost_;
    bool closed_ = false;
    std::uint64_t drains_ = 0;  ///< how often the owner has reported `drained`

    ItemArena arena_;
    std::deque<Slot> slots_;
    std::uint64_t first_ = 1;  ///< position of the first slot
    std::size_t waiting_ = 0;  ///< number of threads
    QueueDemand told_{};
    std::size_t ahead_ = 0;  ///< items wanted ahead
    double pace_ = 2e-3;     ///< seconds between taking one item and asking for the next, smoothed
    Clock::time_point last_take_{};
    std::vector<NumberRange> acknowledged_;  ///< not sent yet
    wire::Loop::Handle soon_;
    bool timer_set_ = false;
    std::condition_variable arrived_;
    std::map<std::uint64_t, Call*> calls_;
    std::uint64_t numbers_ = 0;
};

}  // namespace sinew::process
