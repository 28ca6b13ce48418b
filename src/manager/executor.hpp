// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "src/manager/journal.hpp"
#include "src/manager/server.hpp"

namespace sinew::manager {

/// Executes calls, in the thread that uses it, without the guard. Answers are collected and sent
/// together: those of a run of short calls in one frame, when a moment has passed and a call ends.
class Executor {
public:
    using Send = std::function<void(Executed const&)>;
    explicit Executor(Send send) : send_(std::move(send)) {}

    /// Of one object, in order. The instance: made by the first of them where there was none; null
    /// when that failed.
    std::shared_ptr<void> run(Work const& work);

    /// The object whose call this thread is at; 0: none.
    static ObjectId current();

private:
    using Clock = std::chrono::steady_clock;
    std::shared_ptr<void> make(Call const& call);
    void execute(void* instance, Call const& call);
    static void notify(std::shared_ptr<void> const& instance, Call const& call);
    void note_failure(Call const& call);
    void add(Call const& call, Op op, std::size_t begin);
    void flush(Work const& work, void* instance);

    Send send_;
    Writer bytes_;
    std::vector<Answer> answers_;
    Clock::time_point since_;  ///< the first of them
    Call const* making_ = nullptr;
    std::uint64_t calls_ = 0;
    Saves saves_ = Saves::no;
};

}  // namespace sinew::manager
