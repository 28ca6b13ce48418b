// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <sinew/detail/pool_job.hpp>
#include <string>
#include <vector>

#include "src/pool/master/callback_thread.hpp"
#include "src/pool/master/dashboard_reporter.hpp"
#include "src/pool/master/event_log.hpp"
#include "src/pool/master/progress_line.hpp"
#include "src/pool/master/worker_set.hpp"
#include "src/pool/scheduler/scheduler.hpp"
#include "src/process/runtime.hpp"

namespace sinew::pool {

/// The part of a Pool that knows no types: brings events to the scheduler, and carries out its
/// actions.
///
/// All methods use the runtime's guard, and run in the caller's thread or on the runtime's loop: a
/// task leaves for its worker in the call that submitted it.
class Master final : public detail::PoolMaster, public std::enable_shared_from_this<Master> {
public:
    /// In a fork it is never destroyed: its workers are the parent's, and its guard may be locked.
    static std::shared_ptr<Master> make(PoolOptions const& options,
                                        std::unique_ptr<WorkerPlacement> placement);
    Master(PoolOptions const& options, std::unique_ptr<WorkerPlacement> placement);
    ~Master() override;

    std::mutex& guard() override { return runtime_.guard(); }
    std::uint64_t new_job() override;
    void submit(detail::JobSpec spec) override;
    void grow(std::uint64_t job, std::shared_ptr<detail::ArgumentBlock> more,
              bool complete) override;
    void cancel(std::uint64_t job) override;
    void later(std::function<void()> work) override;
    bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
              std::chrono::steady_clock::time_point deadline,
              std::function<bool()> const& done) override;
    void notify(std::condition_variable& changed) override {
        runtime_.loop_leader().notify_all(changed);
    }

    void start_workers();
    bool wait_until_workers_up(std::chrono::nanoseconds limit);
    void resize(Workers workers);
    void close();
    void terminate();
    /// Waits until all workers are gone, and the callbacks have been called, unless called by one
    /// of them.
    void join();
    PoolStats stats();

private:
    /// An event for the scheduler. `arrived`: what Results bring, which must live until it is handled.
    struct Pending {
        Event event;
        ArrivedResults* arrived;
    };

    class UserLock;
    void settle_meta(Meta const& wish);
    /// Has as many workers as there are places for at present.
    void fit();
    void on_places();
    void require_usable() const;
    void end_with_program();
    void program_ends();
    /// From a user's thread: messages to workers leave at once.
    void step(Event const& event);
    /// On the loop's thread: messages leave at the end of the loop's turn.
    void step_in_turn(Event const& event, ArrivedResults* arrived = nullptr);
    bool wakes_before_it_starts();
    void perform(Action const& action, ArrivedResults* arrived);
    void break_down(std::string const& why);
    void arm_timer();

    // One for each kind of action.
    void act(StartWorker const& action);
    void act(SendBatch const& action);
    void act(Revoke const& action);
    void act(AskToStop const& action);
    void act(Accept const& action, ArrivedResults& arrived);
    void act(Fail const& action, ArrivedResults const* arrived);
    void act(Drop const& action);
    void act(JobEnded const& action);
    void act(KillWorker const& action);
    void act(ReleaseWorker const& action);
    void act(Fenced const& action);
    void act(Broken const& action);
    void act(Retried const& action);
    void act(Ended const& action);

    process::Runtime& runtime_;
    PoolOptions options_;
    std::optional<Meta> meta_;  ///< of each worker; settled before the first starts
    std::unique_ptr<WorkerPlacement> placement_;
    Scheduler scheduler_;
    ProgressLine progress_;
    EventLog events_;
    WorkerSet::Jobs jobs_;
    WorkerSet workers_;
    DashboardReporter dashboard_;
    std::vector<JobRecord> over_;  ///< jobs that have ended in this step, with their results
    std::vector<WorkerRecord*> spoken_to_;  ///< in a step from a user's thread
    std::vector<Action> actions_;
    std::deque<Pending> pending_;
    bool stepping_ = false, from_user_ = false;
    bool woken_ = false;  ///< what this step starts may wait for the thread it wakes
    Time due_ = Time::max();
    wire::Loop::Handle timer_;
    JobId next_job_ = 1;
    std::string broken_;
    bool places_change_ = false;
    bool closed_ = false, ended_ = false, ends_with_program_ = false, warned_ = false;
    std::condition_variable changed_;  ///< workers came up or went, or the pool broke
    CallbackThread callbacks_;
};

}  // namespace sinew::pool
