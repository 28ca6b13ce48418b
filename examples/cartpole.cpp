// SPDX-License-Identifier: Apache-2.0
#include "examples/cartpole.hpp"

#include <cmath>
#include <ctime>
#include <numbers>
#include <stdexcept>
#include <thread>

namespace cartpole {

namespace {

constexpr int longest_episode = 500;

std::chrono::nanoseconds processor_time() {
    std::timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// Consumes processor time, not wall time: a simulation does not progress while preempted.
void be_busy(std::chrono::nanoseconds busy) {
    if (busy.count() <= 0) return;
    auto const until = processor_time() + busy;
    while (processor_time() < until) {}
}

}  // namespace

// Source: Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult
// learning control problems" (1983), without friction; Euler's method.
State after(State const& before, Action action) {
    constexpr double gravity = 9.8, cart = 1.0, pole = 0.1, half_length = 0.5, seconds = 0.02;
    constexpr double mass = cart + pole;
    double const force = action == Action::right ? 10.0 : -10.0;
    double const cosine = std::cos(before.angle), sine = std::sin(before.angle);
    double const turning = before.angular_velocity * before.angular_velocity;
    double const push = (force + pole * half_length * turning * sine) / mass;
    double const angular = (gravity * sine - cosine * push) /
                           (half_length * (4.0 / 3.0 - pole * cosine * cosine / mass));
    double const linear = push - pole * half_length * angular * cosine / mass;
    return {before.position + seconds * before.velocity, before.velocity + seconds * linear,
            before.angle + seconds * before.angular_velocity,
            before.angular_velocity + seconds * angular};
}

bool lost(State const& state) {
    constexpr double rail = 2.4, lean = 12 * std::numbers::pi / 180;
    return std::abs(state.position) > rail || std::abs(state.angle) > lean;
}

CartPole::CartPole(std::uint64_t seed, std::chrono::microseconds busy,
                   std::chrono::microseconds waits)
    : random_(seed), busy_(busy), waits_(waits) {}

// Returns a number in [-0.05, 0.05), by splitmix64.
double CartPole::random() {
    std::uint64_t x = random_ += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return 0.1 * (static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53) - 0.05;
}

Step CartPole::reset() {
    double const position = random(), velocity = random(), angle = random();
    state_ = {position, velocity, angle, random()};
    steps_ = 0;
    done_ = false;
    return shown(0);
}

Step CartPole::step(Action action) {
    if (done_) throw std::logic_error("CartPole: no episode is under way. Call reset() first");
    be_busy(busy_);
    if (waits_.count() > 0) std::this_thread::sleep_for(waits_);
    state_ = after(state_, action);
    done_ = ++steps_ == longest_episode || lost(state_);
    return shown(1);
}

Step CartPole::shown(double reward) const {
    return {state_.position, state_.velocity, state_.angle, state_.angular_velocity, reward, done_};
}

}  // namespace cartpole
