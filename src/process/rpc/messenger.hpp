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
/// For waits without an end of their own.
inline constexpr auto never = Clock::time_point::max();

/// Letters between processes: many small ones in one frame, large ones in pieces.
///
/// Everything with the runtime's guard held. What a service sends within a callback leaves at the end
/// of the loop's turn. What a user's thread sends leaves at once when it is alone; of many in quick
/// succession the thread itself sends a frame every now and then, and a timer what is left over.
class Messenger {
public:
    struct Handler {
        std::function<void(std::shared_ptr<Peer> const&, Message const&)> message;
        std::function<void(std::shared_ptr<Peer> const&, std::string const& why)> lost;
        /// The program ends: nobody will hear of anything any more.
        std::function<void()> ended;
    };

    static Messenger& instance();
    Messenger(Messenger const&) = delete;

    std::mutex& guard() { return runtime_.guard(); }
    /// Holds the guard, or nothing where this thread has it: handles also come and go within callbacks,
    /// as parts of results. No wait is possible then.
    Lock lock();
    Runtime& runtime() { return runtime_; }
    /// This process, among all of the session.
    std::uint64_t origin() const { return runtime_.origin(); }
    void serve(ServiceId service, Handler handler);
    /// How others find this process.
    ProcessAddress own_address();
    std::shared_ptr<Peer> find(ProcessAddress const& address) {
        return runtime_.peer(address.host, address.addresses, address.origin);
    }

    /// Small messages; also large ones where `keeper` keeps the bytes until they are sent.
    void send(std::shared_ptr<Peer> const& peer, MessageHeader head,
              std::span<std::byte const> bytes = {}, std::shared_ptr<void const> keeper = nullptr);
    /// From a user's thread, of any size: waits while the link has enough to do. False: it is too
    /// late, and the message will not arrive. Returns true when the peer was lost.
    bool send_waiting(Lock& lock, std::shared_ptr<Peer> const& peer, MessageHeader head,
                      std::span<std::byte const> bytes, Clock::time_point deadline);
    /// From a user's thread that has sent something and goes on: where that came in quick succession,
    /// what has arrived is taken every now and then. Releases the guard meanwhile.
    void poll_once(Lock& lock);
    /// From a user's thread: what is sent within leaves together, right after it.
    template <class Work>
    void together(Work const& work) {
        {
            OnLoop const within(on_loop_);
            work();
        }
        flush_batches();
    }
    /// Sends what is batched: before this thread waits for something.
    void flush_batches();

    /// Waits until `ready`, having sent what is batched. This thread may drive the loop meanwhile:
    /// what it waits for is told by `notify_all`. False: the time is over. Throws Unavailable when the
    /// program ends.
    bool wait(Lock& lock, std::condition_variable& changed, Clock::time_point deadline,
              std::function<bool()> const& ready,
              LoopLeader::Turn turn = LoopLeader::Turn::at_once);
    /// To all that wait for `changed`.
    void notify_all(std::condition_variable& changed) {
        runtime_.loop_leader().notify_all(changed);
    }

    /// Runs a callback of the loop's as those of this class: what it sends leaves after it.
    void on_loop(std::function<void()> const& work);

private:
    struct Transfer {
        std::uint64_t number;
        std::span<std::byte const> bytes;
        std::shared_ptr<void const> keeper;
        bool ended = false;  ///< sent, or the peer was lost
    };
    /// What is to go to one peer, and what arrives from it.
    struct PeerQueue {
        explicit PeerQueue(std::shared_ptr<Peer> peer_)
            : peer(std::move(peer_)), budget(peer->budget()), assembler(budget) {}
        std::shared_ptr<Peer> const peer;
        std::shared_ptr<MemoryBudget> const budget;  ///< null: it may have any amount
        std::vector<std::byte> batched;
        Clock::time_point first{}, last{};  ///< of what is batched
        bool full = false;
        bool asked = false;     ///< whether all has arrived there; not answered yet
        bool too_much = false;  ///< waits for it; it is being dropped
        std::deque<std::shared_ptr<Transfer>> transfers;
        Assembler assembler;
    };

    /// While it lives, what is sent is batched.
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
    void own_message(std::shared_ptr<Peer> const& peer, Message const& message);
    void end(std::function<void()> done);
    void answered();
    [[noreturn]] void refuse_at_end() const;

    Runtime& runtime_;
    std::uint64_t transfers_ = 0;
    std::array<Handler, 5> handlers_;
    std::unordered_map<Peer*, std::unique_ptr<PeerQueue>> queues_;
    std::condition_variable moved_;  ///< a link has room again, a transfer has ended
    wire::Loop::Handle leftovers_;
    enum class Flushed : std::uint8_t { nothing, one, several } flushed_ = Flushed::nothing;
    bool timer_set_ = false, on_loop_ = false, ended_ = false;
    std::function<void()> done_;
    std::size_t unanswered_ = 0;  ///< of the questions whether all has arrived, at the end
};

}  // namespace sinew::process
