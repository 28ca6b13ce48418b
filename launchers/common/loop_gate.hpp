// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// Posts work from other threads to an object on a loop. Copies share one gate: once any is closed,
/// posted work does not run, and the loop, which may be destroyed by then, is not touched. `post`
/// is thread-safe, also during `close`; `close` must be called on the loop's thread.
class LoopGate {
public:
    explicit LoopGate(wire::Loop& loop) : state_(std::make_shared<State>()) {
        state_->loop = &loop;
    }

    void post(std::function<void()> work) const {
        std::lock_guard const lock(state_->mutex);
        if (state_->loop == nullptr) return;
        state_->loop->post([state = state_, work = std::move(work)] {
            // No lock is needed: `close` is called on this same thread, the loop's.
            if (state->loop != nullptr) work();
        });
    }
    void close() const {
        std::lock_guard const lock(state_->mutex);
        state_->loop = nullptr;
    }

private:
    struct State {
        std::mutex mutex;
        wire::Loop* loop = nullptr;
    };
    std::shared_ptr<State> state_;
};

}  // namespace sinew::launch
