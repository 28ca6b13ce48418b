// SPDX-License-Identifier: Apache-2.0
#include "tests/pool/chaos/chaos_engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <random>

#include "tests/support/processes.hpp"

namespace sinew::testing_support {

using namespace std::chrono_literals;

std::vector<pid_t> own_workers() {
    std::vector<pid_t> found;
    for (auto const& each : descendants_of(::getpid()))
        if (each.parent == ::getpid() && each.state != 'Z' &&
            each.command.starts_with("sinew pool worker"))
            found.push_back(each.pid);
    return found;
}

Havoc::Havoc(Plan const& plan) {
    if (plan.kind == Plan::Kind::kill) thread_ = std::thread([this, plan] { kill(plan); });
    if (plan.kind == Plan::Kind::throttle) thread_ = std::thread([this] { throttle(); });
}

Havoc::~Havoc() {
    {
        std::lock_guard const lock(mutex_);
        over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

bool Havoc::over_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return over_; });
}

void Havoc::kill(Plan const& plan) {
    std::mt19937 random(4711);
    for (auto period = plan.period; !over_within(period); period += period / 10) {
        auto victims = own_workers();
        std::shuffle(victims.begin(), victims.end(), random);
        victims.resize(std::min(victims.size(), plan.victims));
        for (auto const pid : victims) ::kill(pid, SIGKILL);
    }
}

// Limits a worker to a tenth of a processor, as a quota would.
void Havoc::throttle() {
    pid_t victim = 0;
    do {
        auto const all = own_workers();
        if (std::find(all.begin(), all.end(), victim) == all.end())
            victim = all.empty() ? 0 : all.front();
        if (victim == 0) continue;
        ::kill(victim, SIGSTOP);
        bool const over = over_within(90ms);
        ::kill(victim, SIGCONT);
        if (over) return;
    } while (!over_within(10ms));
}

}  // namespace sinew::testing_support
