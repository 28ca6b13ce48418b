// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "collectives/channel.hpp"
#include "src/comm/engine.hpp"
#include "src/comm/watch.hpp"

namespace sinew::detail {

/// How one operation waits: in the caller's thread it spins, yields, then naps; in a fiber it lets
/// the other operations run. Either way it looks after the deadline and the peers now and then.
class Waiting final : public collectives::Supervisor {
public:
    struct Pace {
        int spins;   ///< polls before the first yield
        int yields;  ///< before the first nap
    };

    /// `what`: the operation in words, called only when it failed. `operation`: the fiber it runs in,
    /// or null. `in_collective` as in Watch::investigate.
    Waiting(Watch& watch, Engine& engine, Operation* operation, std::chrono::nanoseconds timeout,
            Pace pace, bool in_collective, std::function<std::string()> what)
        : watch_(watch), engine_(engine), operation_(operation), timeout_(timeout), pace_(pace),
          in_collective_(in_collective), what_(std::move(what)) {}

    int spins() const override { return operation_ != nullptr ? 1 : pace_.spins; }
    void idle(int round, collectives::Channel const& channel) override;
    std::string subject() const override;
    std::string name_of(int rank) const override { return watch_.rank_text(rank); }
    /// As `idle` for waits without a channel: for `peer`, at step `step` of `steps` (0: no steps).
    void idle(int round, int peer, int step, int steps);

private:
    using Clock = std::chrono::steady_clock;

    void pause(int round);
    void look_around(int peer, int step, int steps);
    std::string stopped(Clock::time_point now, int peer, int step, int steps) const;

    Watch& watch_;
    Engine& engine_;
    Operation* operation_;
    std::chrono::nanoseconds timeout_;
    Pace pace_;
    bool in_collective_;
    std::function<std::string()> what_;
    Clock::time_point start_{};  // of the first wait that lasted
    Clock::time_point next_look_{};
};

}  // namespace sinew::detail
