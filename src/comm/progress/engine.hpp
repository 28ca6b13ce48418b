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
#include "src/comm/progress/fiber.hpp"
#include "src/comm/progress/request_state.hpp"

namespace sinew::detail {

class Engine;
class FailureDetector;

/// A non-blocking operation: its body, its state and its result.
class Operation final : public RequestState {
public:
    /// `body` runs in a fiber of the engine; an exception from it is kept for `take_result`.
    Operation(std::shared_ptr<Engine> engine, std::function<void(Operation&)> body,
              bool can_be_withdrawn = false);

    Engine& engine() const { return *engine_; }
    bool done() const { return done_.load(std::memory_order_acquire); }
    bool poll() override;
    bool wait(std::optional<Clock::time_point> until) override;
    /// Returns the result, or throws the body's exception. Requires: done().
    Received take_result() override;

    /// Marks the operation as awaited. The timeout of a message starts then, that of a collective
    /// when it runs.
    void await() override { awaited_.store(true, std::memory_order_relaxed); }
    bool awaited() const { return awaited_.load(std::memory_order_relaxed); }

    /// The state of a request to withdraw the operation.
    enum class Withdrawal : std::uint8_t { none, asked, refused, done };
    bool withdraw() override;
    Withdrawal withdrawal() const { return withdrawal_.load(std::memory_order_acquire); }
    /// Called by the body to answer `asked`.
    void answer_withdrawal(bool done) {
        withdrawal_.store(done ? Withdrawal::done : Withdrawal::refused, std::memory_order_release);
    }
    /// Marks the operation as one whose result is no longer needed.
    void disown() override { disowned_.store(true, std::memory_order_relaxed); }
    bool disowned() const { return disowned_.load(std::memory_order_relaxed); }
    /// Whether the operation can be withdrawn: a receive can, a collective cannot.
    bool const withdrawable;

    /// Called by the body repeatedly while it waits: lets other operations run.
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

/// Runs the non-blocking operations of one rank, each in a fiber, resuming them in turn.
///
/// With Threading::any the engine has a thread, so that operations progress while the application
/// computes; the thread also calls FailureDetector::poll regularly. Otherwise operations progress
/// only in the threads that wait. Operations of one chain (a communicator's collectives) run one
/// after the other in the order of submission; all others run concurrently.
class Engine {
public:
    /// Makes an engine. Operations still running when the last reference is released are abandoned.
    /// That may be in the engine's thread, as an operation may hold the last reference.
    static std::shared_ptr<Engine> make(Threading threading);
    /// Returns the engine that all communicators share in a process that is one rank; it lives as
    /// long as one of them. A thread per communicator would cost one wake-up each. Thread-safe.
    static std::shared_ptr<Engine> of_process(Threading threading);
    Engine(Engine const&) = delete;
    Engine& operator=(Engine const&) = delete;

    /// Maximum of operations at a time: each has a stack, and the kernel limits memory mappings.
    static constexpr std::size_t most_operations = 16384;

    /// Throws UsageError if there are most_operations already. Call it before sending anything.
    void check_room();
    /// Starts an operation; null `chain`: it is in no chain.
    void submit(std::shared_ptr<Operation> operation, void const* chain);
    /// Waits until the operation is done and returns true; returns false at `until`.
    bool wait(Operation& operation, std::optional<Operation::Clock::time_point> until);
    /// Resumes each operation once if the engine has no thread; otherwise does nothing.
    void drive();
    bool threaded() const { return threading_ == Threading::any; }
    /// Called by a fiber that has made progress: the engine continues without naps.
    void note_progress() { progressed_ = true; }

    void add(FailureDetector& detector);
    /// Returns when the engine no longer uses `detector`.
    void remove(FailureDetector& detector);

private:
    explicit Engine(Threading threading) : threading_(threading) {}
    ~Engine() = default;
    static void release(Engine* engine);
    void run();
    void round();
    void adopt();
    /// Returns true if the operation has ended.
    bool resume(Operation& operation);
    void give_fiber(Operation& operation);
    void poll_watches();
    /// Removes and returns the next operation of a chain; null if there is none.
    std::shared_ptr<Operation> next_of_chain(void const* chain);

    Threading threading_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::shared_ptr<Operation>> submitted_;  // guarded by mutex_
    std::size_t alive_ = 0;  // submitted and not ended; guarded by mutex_
    bool stopping_ = false;  // guarded by mutex_
    bool orphaned_ = false;  // used by the engine's thread only
    std::mutex watches_mutex_;
    std::vector<FailureDetector*> detectors_;
    // Used by the driving thread only: running operations and, by chain, those that wait for one.
    std::list<std::shared_ptr<Operation>> running_;
    std::unordered_map<void const*, std::deque<std::shared_ptr<Operation>>> waiting_;
    std::vector<std::unique_ptr<Fiber>> idle_fibers_;
    bool progressed_ = false;
    bool driving_ = false;
    std::thread thread_;
};

}  // namespace sinew::detail
