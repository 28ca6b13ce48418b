// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stdexcept>
#include <thread>

#include "src/base/waiting/polling_pause.hpp"
#include "src/node_memory/waiter.hpp"

namespace sinew::node_memory {

/// Lets other threads run, and throws after 20 s.
class PatientWaiter final : public Waiter {
public:
    int spins() const override { return 4; }
    int yields() const override { return 3; }
    std::chrono::nanoseconds idle(int round, int) override {
        auto const now = std::chrono::steady_clock::now();
        if (round == 0) deadline_ = now + std::chrono::seconds(20);
        if (now > deadline_) throw std::runtime_error("waited in vain");
        pause_between_polls();  // a yield beside computing threads costs their time slice
        return round < 50 ? std::chrono::nanoseconds{} : std::chrono::microseconds(100);
    }

private:
    std::chrono::steady_clock::time_point deadline_;
};

/// Thrown instead of a wait.
struct WouldWait {
    int for_rank;
};

/// Throws WouldWait at once.
class ImpatientWaiter final : public Waiter {
public:
    int spins() const override { return 0; }
    std::chrono::nanoseconds idle(int, int peer) override { throw WouldWait{peer}; }
};

}  // namespace sinew::node_memory
