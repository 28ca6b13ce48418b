// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/process/rpc/message.hpp"
#include "src/process/rpc/process_address.hpp"

namespace sinew::process {

using Clock = std::chrono::steady_clock;
using Lock = std::unique_lock<std::mutex>;
/// For waits without a deadline.
inline constexpr auto never = Clock::time_point::max();

/// Sends messages between processes: many small ones in one frame, large ones in pieces.
///
/// Call all methods with the runtime's guard held. Messages that a service sends within a callback
/// leave at the end of the loop's turn. A message of a user's thread leaves at once if it is alone;
/// of many in quick succession, the thread sends a batch now and then, and a timer sends the rest.
class Messenger {
public:
    struct Handler {
        std::function<void(std::shared_ptr<Peer> const&, Message const&)> message;
        std::function<void(std::shared_ptr<Peer> const&, std::string const& why)> lost;
        /// The program ends: no further message will arrive.
        std::function<void()> ended;
    };

    static Messenger& instance();
    Messenger(Messenger const&) = delete;
    /// The one Service of this process, made from the messenger at the first call. Never destroyed,
    /// like the runtime. Throws UsageError in a forked process.
    template <class Service>
    static Service& service() {
        auto& messenger = instance();
        auto const lock = messenger.lock();
        static auto* const made = new Service(messenger);
        return *made;
    }

    std::mutex& guard() { return runtime_.guard(); }
    /// Locks the guard, unless this thread holds it already: handles are also made and destroyed
    /// within callbacks, as parts of results. A wait is not possible then.
    Lock lock();
    Runtime& runtime() { return runtime_; }
    /// Identifies this process in the session.
    std::uint64_t origin() const { return runtime_.origin(); }
    void serve(ServiceId service, Handler handler);
    /// The address under which other processes reach this one.
    ProcessAddress own_address();
    std::shared_ptr<Peer> find(ProcessAddress const& address) {
        return runtime_.peer(address.host, address.addresses, address.origin);
    }

    /// Sends a small message, or a large one if `keeper` keeps the bytes alive until they are sent.
    void send(std::shared_ptr<Peer> const& peer, MessageHeader head,
              std::span<std::byte const> bytes = {}, std::shared_ptr<void const> keeper = nullptr);
    /// Sends a message of any size from a user's thread; blocks while the link has too much to
    /// send. Returns false if the deadline has passed: then the message will not arrive. Returns
    /// true also if the peer was lost.
    bool send_waiting(Lock& lock, std::shared_ptr<Peer> const& peer, MessageHeader head,
                      std::span<std::byte const> bytes, Clock::time_point deadline);
    /// For a user's thread that sends and continues: after quick successions of messages, it
    /// processes what has arrived now and then. Releases the guard meanwhile.
    void poll_once(Lock& lock);
    /// For a user's thread: messages sent within `work` leave together right after it.
    template <class Work>
    void together(Work const& work) {
        {
            OnLoop const within(on_loop_);
            work();
        }
        flush_batches();
    }
    /// Sends all batched messages. Call it before this thread waits for something.
    void flush_batches();

    /// Sends all batched messages, then waits until `ready()` is true; `notify_all` must announce
    /// that. The thread may drive the loop meanwhile. Returns false at the deadline. Throws
    /// Unavailable when the program ends.
    bool wait(Lock& lock, std::condition_variable& changed, Clock::time_point deadline,
              std::function<bool()> const& ready,
              LoopLeader::Turn turn = LoopLeader::Turn::at_once);
    /// The same for a condition that any call of `LoopLeader::notify_all` may make true.
    bool wait_for_any(Lock& lock, Clock::time_point deadline, std::function<bool()> const& ready);
    /// Wakes all waiters of `changed`.
    void notify_all(std::condition_variable& changed) {
        runtime_.loop_leader().notify_all(changed);
    }

    /// Runs a callback of the loop like one of this class: what it sends leaves after it.
    void on_loop(std::function<void()> const& work);

private:
    struct Transfer {
        std::uint64_t number;
        std::span<std::byte const> bytes;
        std::shared_ptr<void const> keeper;
        bool ended = false;  ///< it was sent, or the peer was lost
    };
    /// What is sent to one peer, and what arrives from it.
    struct PeerQueue {
        explicit PeerQueue(std::shared_ptr<Peer> peer_)
            : peer(std::move(peer_)), budget(peer->budget()), assembler(budget) {}
        std::shared_ptr<Peer> const peer;
        std::shared_ptr<MemoryBudget> const budget;  ///< null: no limit
        std::vector<std::byte> batched;
        Clock::time_point first{}, last{};  ///< when the batched messages were sent
        bool full = false;
        bool asked = false;     ///< `ask_arrived` was sent, and is not answered
        bool too_much = false;  ///< it has too much in flight, and is being dropped
        std::deque<std::shared_ptr<Transfer>> transfers;
        Assembler assembler;
    };

    /// While it exists, sent messages are batched.
    class OnLoop {
    public:
        explicit OnLoop(bool& flag) : flag_(flag), before_(std::exchange(flag, true)) {}
        OnLoop(OnLoop const&) = delete;
        ~OnLoop() { flag_ = before_; }

    private:
        bool& flag_;
        bool const before_;
    };

    explicit Messenger(Runtime& runtime);
    PeerQueue& queue(std::shared_ptr<Peer> const& peer);
    std::shared_ptr<Transfer> begin(PeerQueue& queue, MessageHeader const& head,
                                    std::span<std::byte const> bytes,
                                    std::shared_ptr<void const> keeper);
    void batch(PeerQueue& queue, MessageHeader const& head, std::span<std::byte const> bytes);
    void flush(PeerQueue& queue);
    void send_pieces(PeerQueue& queue);
    static std::size_t owed(PeerQueue const& queue);
    void drop_later(PeerQueue const& queue, std::string why);
    void take_frame(std::shared_ptr<Peer> const& peer, wire::Message const& message);
    void frame(std::shared_ptr<Peer> const& peer, wire::Message const& message);
    void deliver(std::shared_ptr<Peer> const& peer, Message const& message);
    void lost(std::shared_ptr<Peer> const& peer, std::string const& why);
    void drained(std::shared_ptr<Peer> const& peer);
    void flush_before_wait();
    void own_message(std::shared_ptr<Peer> const& peer, Message const& message);
    void end(std::function<void()> done);
    void answered();
    [[noreturn]] void refuse_at_end() const;

    Runtime& runtime_;
    std::uint64_t transfers_ = 0;
    std::array<Handler, 5> handlers_;
    std::unordered_map<Peer*, std::unique_ptr<PeerQueue>> queues_;
    std::condition_variable moved_;  ///< a link has room again, or a transfer has ended
    wire::Loop::Handle leftovers_;
    enum class Flushed : std::uint8_t { nothing, one, several } flushed_ = Flushed::nothing;
    bool timer_set_ = false, on_loop_ = false, ended_ = false;
    std::function<void()> done_;
    std::size_t unanswered_ = 0;  ///< messages `ask_arrived` that are not answered
};

}  // namespace sinew::process
