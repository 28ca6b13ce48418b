// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <string>

#include "collectives/channel.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/node_memory/waiter.hpp"

namespace sinew::detail {

/// Waits for memory in the caller's thread, for one call. A policy and a channel are made only if
/// it waits for long. A failure ends the communicator.
class CommunicatorState::MemoryWaiter : public node_memory::Waiter {
    /// A failure of `wait` ends the communicator.
    template <class Wait>
    auto losing(Wait const& wait) {
        try {
            return wait();
        } catch (...) {
            state_.remember_loss(std::current_exception());
            throw;
        }
    }

public:
    explicit MemoryWaiter(CommunicatorState& state) : state_(state) {}
    MemoryWaiter(MemoryWaiter const&) = delete;
    MemoryWaiter& operator=(MemoryWaiter const&) = delete;
    [[gnu::always_inline]] ~MemoryWaiter() override {}

    int spins() const override { return state_.pace().memory_spins; }
    int yields() const override { return state_.pace().memory_yields; }
    std::chrono::nanoseconds idle(int round, int peer) override {
        return losing([&] { return slow().channel.waiter().idle(round, peer); });
    }
    void refuse(int peer) override {
        losing([&] { slow().channel.waiter().refuse(peer); });
    }
    /// Does what `idle` does except to pause.
    void look(int round, int peer) {
        losing([&] { slow().policy.look_on_memory(round, peer); });
    }

protected:
    /// Describes the call for errors: "allreduce(f32 x 10, sum) #17".
    virtual std::string text_of_call() const = 0;
    /// Records that the call waits for long.
    virtual void note_wait() { state_.log_.note_wait(); }
    CommunicatorState& state() const { return state_; }

private:
    struct Slow {
        explicit Slow(MemoryWaiter const& waiter)
            : policy(*waiter.state_.transport_, waiter.state_.detector_, *waiter.state_.engine_,
                     nullptr, waiter.state_.settings_.deadlines, waiter.state_.pace(), true,
                     [&waiter] { return waiter.text_of_call(); }),
              channel(*waiter.state_.transport_, policy, collective_tag) {}
        ProgressPolicy policy;
        collectives::Channel channel;
    };

    Slow& slow() {
        if (!slow_) {
            note_wait();
            slow_ = std::make_unique<Slow>(*this);
        }
        return *slow_;
    }
    CommunicatorState& state_;
    std::unique_ptr<Slow> slow_;
};

}  // namespace sinew::detail
