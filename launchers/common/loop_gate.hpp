// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// The way from other threads to what lives on a loop. Copies are of one gate: once any of them is
/// closed, nothing that came through it runs any more, and the loop, which may be gone then, is not
/// touched. Any thread may call `post`, also during `close`; `close` is for the loop's thread.
class LoopGate {
public:
    explicit LoopGate(wire::Loop& loop) : state_(std::make_shared<State>()) {
        state_->loop = &loop;
    }

    void post(std::function<void()> work) const {
        std::lock_guard const lock(state_->mutex);
        if (state_->loop == nullptr) return;
        state_->loop->post([state = state_, work = std::move(work)] {
            // On the loop's thread, as `close` is: it cannot change during the call.
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
