// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "collectives/channel.hpp"
#include "src/base/waiting/deadlines.hpp"
#include "src/comm/progress/engine.hpp"
#include "src/comm/progress/failure_detector.hpp"

namespace sinew::detail {

/// Decides how one operation waits: in the caller's thread it spins, yields, then naps; in a fiber
/// it lets other operations run. In both cases it checks the deadline and the peers regularly.
class ProgressPolicy final : public collectives::WaitPolicy {
public:
    struct Pace {
        int spins;                ///< polls before the first yield
        int yields;               ///< polls before the first nap
        int memory_spins = 2000;  ///< looks at a word in memory before the first yield
        int memory_yields = 0;    ///< yields before it looks at anything else
    };

    /// `what` describes the operation for warnings and errors. `operation` is the one whose fiber
    /// waits, or null. For `in_collective` see FailureDetector::investigate.
    ProgressPolicy(Transport& transport, FailureDetector& detector, Engine& engine,
                   Operation* operation, Deadlines const& deadlines, Pace pace, bool in_collective,
                   std::function<std::string()> what)
        : transport_(transport), detector_(detector), engine_(engine), operation_(operation),
          deadlines_(deadlines), pace_(pace), in_collective_(in_collective),
          what_(std::move(what)) {}

    int spins() const override { return operation_ != nullptr ? 1 : pace_.spins; }
    void idle(int round, collectives::Channel const& channel) override;
    std::chrono::nanoseconds idle_on_memory(int round,
                                            collectives::Channel const& channel) override;
    /// Does what `idle_on_memory` does, except to pause: for a program that tests.
    void look_on_memory(int round, int peer);
    int spins_on_memory() const override { return operation_ != nullptr ? 1 : pace_.memory_spins; }
    int yields_on_memory() const override {
        return operation_ != nullptr ? 0 : pace_.memory_yields;
    }
    std::string subject() const override;
    std::string name_of(int rank) const override { return detector_.rank_text(rank); }
    /// The same for waits without a channel: for `peer`, at step `step` of `steps` (0: no steps).
    void idle(int round, int peer, int step, int steps);

private:
    using Clock = std::chrono::steady_clock;

    void pause(int round);
    void keep_time(int round, int peer, int step, int steps);
    void look_around(int peer, int step, int steps);
    void count(Clock::time_point now, bool progressed);
    void decide(Clock::time_point now, int peer, int step, int steps);
    std::string waits(Clock::time_point now, char const* how, int peer, int step, int steps) const;

    Transport& transport_;
    FailureDetector& detector_;
    Engine& engine_;
    Operation* operation_;
    Deadlines deadlines_;
    Pace pace_;
    bool in_collective_;
    std::function<std::string()> what_;
    Clock::time_point start_{};  // start of the first wait that reached the clock
    Clock::time_point seen_{};   // time of the last count()
    Clock::time_point next_look_{};
    Clock::time_point next_interrupt_check_{};
    Clock::duration waited_{};    // since the last progress
    Clock::duration forgiven_{};  // waited_ when the peers were last found to be only late
    bool warned_ = false;
    bool all_came_ = false;  // the last investigation found that all ranks had come
};

}  // namespace sinew::detail
