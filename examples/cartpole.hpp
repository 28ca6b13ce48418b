// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace cartpole {

/// The state of a cart on a rail and the pole on it, in meters, radians and seconds.
struct State {
    double position = 0, velocity = 0, angle = 0, angular_velocity = 0;
    friend bool operator==(State const&, State const&) = default;
};

enum class Action : std::uint8_t { left, right };

/// The result of a step: the observed state and the reward.
struct Step {
    double position = 0, velocity = 0, angle = 0, angular_velocity = 0, reward = 0;
    bool done = false;
};

/// Returns the state 20 ms later, with the cart pushed by 10 N.
State after(State const& before, Action action);
/// Whether the pole leans by more than 12 degrees, or the cart is more than 2.4 m off the middle.
bool lost(State const& state);

/// The classic task of balancing a pole: each step is rewarded by 1 until the pole falls, for at
/// most 500 steps. The result depends only on the seed and the actions.
class CartPole {
public:
    /// `busy` is extra processor time per step, as in a larger simulation; `waits` is extra time
    /// per step without a processor, as for one that runs on another device.
    explicit CartPole(std::uint64_t seed, std::chrono::microseconds busy = {},
                      std::chrono::microseconds waits = {});
    /// Begins the next episode, with the pole almost upright.
    Step reset();
    /// Throws std::logic_error if the episode is over (or none has begun).
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
