// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include <sinew/comm/transport.hpp>
#include <sinew/request.hpp>

#include "src/comm/progress/fiber.hpp"

namespace sinew::detail {

class Engine;
class FailureDetector;

/// A non-blocking operation: what it does, and how it ended.
class Operation {
public:
    using Clock = std::chrono::steady_clock;

    /// `body` runs in a fiber of the engine; what it throws is kept for `take_result`.
    Operation(std::shared_ptr<Engine> engine, std::function<void(Operation&)> body,
              bool can_be_withdrawn = false);

    Engine& engine() const { return *engine_; }
    bool done() const { return done_.load(std::memory_order_acquire); }
    /// After the end: what came, or throws what went wrong.
    Received take_result();

    /// Somebody waits for it from now on: the time of a message counts from then, that of a
    /// collective from when it runs.
    void await() { awaited_.store(true, std::memory_order_relaxed); }
    bool awaited() const { return awaited_.load(std::memory_order_relaxed); }

    /// What became of a wish to take the operation back.
    enum class Withdrawal : std::uint8_t { none, asked, refused, done };
    void ask_to_withdraw() { withdrawal_.store(Withdrawal::asked, std::memory_order_release); }
    Withdrawal withdrawal() const { return withdrawal_.load(std::memory_order_acquire); }
    /// For the body: the answer to `asked`.
    void answer_withdrawal(bool done) {
        withdrawal_.store(done ? Withdrawal::done : Withdrawal::refused, std::memory_order_release);
    }
    /// Whoever asked for it is not interested in its result any more.
    void disown() { disowned_.store(true, std::memory_order_relaxed); }
    bool disowned() const { return disowned_.load(std::memory_order_relaxed); }
    /// Whether it can be taken back at all: a receive can, a collective cannot.
    bool const withdrawable;

    /// For the body: lets others run; to be called again and again while it waits.
    void suspend() { fiber_->suspend(); }

    Received received;  ///< set by the body

private:
    friend class Engine;
    std::shared_ptr<Engine> engine_;
    std::function<void(Operation&)> body_;
    std::unique_ptr<Fiber> fiber_;
    void const* chain_ = nullptr;
    std::exception_ptr error_;
    std::atomic<bool> awaited_{false};
    std::atomic<bool> disowned_{false};
    std::atomic<Withdrawal> withdrawal_{Withdrawal::none};
    std::atomic<bool> done_{false};
};

/// Runs the non-blocking operations of one rank, each a fiber, a little of each at a time.
///
/// With Threading::any a thread of its own does it, so that operations progress while the
/// application computes; the same thread answers for the rank now and then (FailureDetector::poll). Else
/// whoever waits does it. Operations of one chain (a communicator's collectives) run one after the
/// other in the order of submission; the others at the same time.
class Engine {
public:
    /// Operations that still run when the last reference goes are abandoned. That may happen in the
    /// engine's own thread: the last operation to end may hold the last reference.
    static std::shared_ptr<Engine> make(Threading threading);
    /// The one that all communicators of a process that is one rank share, for as long as one of
    /// them lives: a thread for each would wake up for each.
    static std::shared_ptr<Engine> of_process(Threading threading);
    Engine(Engine const&) = delete;
    Engine& operator=(Engine const&) = delete;

    /// Most operations at a time: each has a stack, and the kernel grants so many mappings.
    static constexpr std::size_t most_operations = 16384;

    /// Throws UsageError when there are that many already. To be asked before anything is sent.
    void check_room();
    void submit(std::shared_ptr<Operation> operation, void const* chain);
    /// Waits until the operation is done (true) or `until` has come.
    bool wait(Operation& operation, std::optional<Operation::Clock::time_point> until);
    /// One round over all operations, where no thread does it.
    void drive();
    bool threaded() const { return threading_ == Threading::any; }
    /// A fiber reports that it got on: the engine stays attentive.
    void note_progress() { progressed_ = true; }

    void add(FailureDetector& watch);
    /// Returns when the engine no longer looks at it.
    void remove(FailureDetector& watch);

private:
    explicit Engine(Threading threading) : threading_(threading) {}
    ~Engine() = default;
    static void release(Engine* engine);
    void run();
    void round();
    void adopt();
    /// True when the operation has ended.
    bool resume(Operation& operation);
    void give_fiber(Operation& operation);
    void poll_watches();
    /// Takes off the chain what comes after the operation that ended.
    std::shared_ptr<Operation> next_of_chain(void const* chain);

    Threading threading_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::shared_ptr<Operation>> submitted_;  // guarded by mutex_
    std::size_t alive_ = 0;  // submitted and not ended; guarded by mutex_
    bool stopping_ = false;  // guarded by mutex_
    bool orphaned_ = false;  // of the engine's thread alone
    std::mutex watches_mutex_;
    std::vector<FailureDetector*> watches_;
    // Of the driving thread alone: what runs, and by chain what waits for one that does.
    std::list<std::shared_ptr<Operation>> running_;
    std::unordered_map<void const*, std::deque<std::shared_ptr<Operation>>> waiting_;
    std::vector<std::unique_ptr<Fiber>> idle_fibers_;
    bool progressed_ = false;
    bool driving_ = false;
    std::thread thread_;
};

}  // namespace sinew::detail
