// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <vector>

#include "src/manager/server/checkpoint_client.hpp"
#include "src/manager/server/server.hpp"

namespace sinew::manager {

/// Executes calls in the thread that uses it, without the guard. Answers are collected and sent
/// together: those of a run of short calls in one frame, when a moment has passed and a call ends,
/// or by another thread if a call takes long.
class Executor {
public:
    /// Called with the guard held.
    using Send = std::function<void(std::vector<Answer> const&, Writer const&)>;
    /// Called without the guard; sends when it is its turn.
    using Keep = std::function<void(Executed const&)>;
    /// `keep`: empty if nothing is kept of what is executed.
    Executor(std::mutex& guard, Send send, Keep keep);
    Executor(Executor const&) = delete;

    /// Executes calls of one object in order. Returns the instance: made by the first call if there
    /// was none; null if that failed. The last answers are not sent yet.
    std::shared_ptr<void> run(Work const& work);
    /// Adds an answer for another call, which this one has completed.
    void add_later(Answer answer, Writer const& bytes);
    /// Any thread, with the guard held: sends the collected answers; `old`: only if they have
    /// waited for a moment. Not if there is something to keep.
    void flush_batches();
    void send_old();

    /// The calls that it has executed lately took a few microseconds each.
    bool is_brief() const { return mean_ < most_brief_; }
    /// ... or little more than it takes to wake a thread.
    bool is_short() const { return mean_ < most_short_; }

    /// The object whose call this thread executes; 0: none.
    static ObjectId current();

private:
    using Clock = std::chrono::steady_clock;
    // True: it is time to send what is collected.
    bool make(Call const& call, std::shared_ptr<void>& instance);
    bool execute(void* instance, Call const& call);
    bool notify(std::shared_ptr<void> const& instance, Call const& call);
    bool note_failure(Call const& call);
    bool add(Call const& call, Op op);
    bool is_due();
    void keep(Work const& work, void* instance);
    void measure(Clock::duration time, std::size_t calls);

    std::mutex& guard_;
    Send const send_;
    Keep const keep_;
    Clock::duration const most_brief_, most_short_;
    Writer result_;  ///< of the current call
    Clock::duration mean_{};
    Clock::time_point ended_{};  ///< the latest call

    std::mutex mutex_;           ///< of what follows; locked after the guard
    Clock::time_point since_{};  ///< of the first collected answer
    Writer bytes_;
    std::vector<Answer> answers_;
    // With the guard held: what is on its way from there.
    Writer leaving_bytes_;
    std::vector<Answer> leaving_;
    // Of what is to be kept.
    Call const* making_ = nullptr;
    std::uint64_t calls_ = 0;
    Saves saves_ = Saves::no;
};

}  // namespace sinew::manager
