// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace cartpole {

/// A cart on a rail and a pole that stands on it, in metres, radians and seconds.
struct State {
    double position = 0, velocity = 0, angle = 0, angular_velocity = 0;
    friend bool operator==(State const&, State const&) = default;
};

enum class Action : std::uint8_t { left, right };

/// What a step shows of the world, and what it was worth.
struct Step {
    double position = 0, velocity = 0, angle = 0, angular_velocity = 0, reward = 0;
    bool done = false;
};

/// 20 ms later, the cart being pushed with 10 N all the while.
State after(State const& before, Action action);
/// Whether the pole is more than 12 degrees off, or the cart more than 2.4 m.
bool lost(State const& state);

/// The classic task of balancing a pole: each step is rewarded by 1 until the pole falls, or for 500
/// steps. What happens depends on the seed and the actions only.
class CartPole {
public:
    /// `busy`: processor time that a step uses up besides, as a larger simulation would; `waits`: time
    /// that it takes without a processor, as one does that runs on another device.
    explicit CartPole(std::uint64_t seed, std::chrono::microseconds busy = {},
                      std::chrono::microseconds waits = {});
    /// Begins the next episode, almost upright.
    Step reset();
    /// Throws std::logic_error when the episode is over (or none has begun).
    Step step(Action action);

private:
    double random();
    Step shown(double reward) const;

    std::uint64_t random_;
    std::chrono::microseconds busy_, waits_;
    State state_;
    int steps_ = 0;
    bool done_ = true;
};

}  // namespace cartpole
