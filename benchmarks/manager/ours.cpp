// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <sinew/error.hpp>
#include <sinew/manager.hpp>
#include <thread>
#include <vector>

#include "benchmarks/manager/cases.hpp"
#include "benchmarks/manager/contestants.hpp"
#include "benchmarks/support/stopwatch.hpp"
#include "benchmarks/support/text.hpp"
#include "examples/cartpole.hpp"

namespace sinew::bench {

namespace {

using cartpole::CartPole;

class Counter {
public:
    int add(int number) { return sum_ += number; }

private:
    int sum_ = 0;
};

void expect(bool right) {
    if (!right) throw Error("a sum is wrong");
}

class SyncCalls final : public Contestant {
public:
    double cost(std::uint64_t size) override {
        auto const counter = manager_.create<Counter>();
        bool right = true;
        Stopwatch const time;
        for (std::uint64_t i = 1; i <= size; ++i)
            right = counter.call<&Counter::add>(1) == static_cast<int>(i) && right;
        double const seconds = time.seconds();
        expect(right);
        return seconds;
    }

private:
    Manager manager_;
};

class AsyncCalls final : public Contestant {
public:
    double cost(std::uint64_t size) override {
        constexpr std::uint64_t in_flight = 1000;
        auto const counter = manager_.create<Counter>();
        std::deque<Reply<int>> pending;
        bool right = true;
        Stopwatch const time;
        for (std::uint64_t begun = 0, ended = 0; ended < size; pending.pop_front()) {
            // Start half of the calls at a time, so that they are sent together.
            if (pending.size() <= in_flight / 2)
                for (; begun < size && pending.size() < in_flight; ++begun)
                    pending.push_back(counter.async<&Counter::add>(1));
            right = pending.front().get() == static_cast<int>(++ended) && right;
        }
        double const seconds = time.seconds();
        expect(right);
        return seconds;
    }

private:
    Manager manager_;
};

cartpole::Action balancing(cartpole::Step const& seen) {
    bool const to_the_right =
        seen.angle + 0.5 * seen.angular_velocity + 0.02 * seen.position + 0.05 * seen.velocity > 0;
    return to_the_right ? cartpole::Action::right : cartpole::Action::left;
}

/// Simulators, each in a separate manager.
class Demo final : public Contestant {
public:
    Demo(Case const& what, int managers, std::chrono::microseconds step, bool at_once)
        : managers_(static_cast<std::size_t>(managers)), at_once_(at_once),
          computes_(!is_device(what)) {
        constexpr std::chrono::microseconds none{};
        for (auto& each : managers_)
            worlds_.push_back(each.create<CartPole>(worlds_.size(), computes_ ? step : none,
                                                    computes_ ? none : step));
    }

    double cost(std::uint64_t size) override {
        std::vector<cartpole::Step> seen;
        for (auto const& each : worlds_) seen.push_back(each.call<&CartPole::reset>());
        Stopwatch const time;
        for (std::uint64_t i = 0; i < size; ++i) at_once_ ? step_at_once(seen) : step(seen);
        return time.seconds();
    }

    std::string note() const override {
        if (!computes_) return {};
        auto const processors = std::thread::hardware_concurrency();
        auto const enough = managers_.size() + 1;
        return text(processors, " processors for ", managers_.size(), " managers and their caller",
                    processors < enough ? text(" (the goal is for ", enough, ")") : "");
    }

private:
    Reply<cartpole::Step> begin(std::size_t i, cartpole::Step const& seen) const {
        if (seen.done) return worlds_[i].async<&CartPole::reset>();
        return worlds_[i].async<&CartPole::step>(balancing(seen));
    }
    void step(std::vector<cartpole::Step>& seen) const {
        for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = begin(i, seen[i]).get();
    }
    void step_at_once(std::vector<cartpole::Step>& seen) {
        replies_.clear();
        for (std::size_t i = 0; i < seen.size(); ++i) replies_.push_back(begin(i, seen[i]));
        for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = replies_[i].get();
    }

    std::vector<Manager> managers_;
    std::vector<Object<CartPole>> worlds_;
    std::vector<Reply<cartpole::Step>> replies_;
    bool at_once_, computes_;
};

}  // namespace

std::unique_ptr<Contestant> make_our_objects(Case const& what, int managers,
                                             std::chrono::microseconds step) {
    if (what.name == "sync") return std::make_unique<SyncCalls>();
    if (what.name == "async") return std::make_unique<AsyncCalls>();
    return std::make_unique<Demo>(what, managers, step, true);
}

std::unique_ptr<Contestant> make_our_lockstep(std::string_view name, Case const& what, int managers,
                                              std::chrono::microseconds step) {
    if (name != "sync") return nullptr;
    return std::make_unique<Demo>(what, managers, step, false);
}

}  // namespace sinew::bench
