// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>

#include "src/wire/loop.hpp"

namespace sinew::process {

/// Carries out, one after the other on a thread of its own, what may block for long (a disk), and tells
/// the loop of each end. The guard is to be held, but by the work itself.
class BackgroundWork {
public:
    explicit BackgroundWork(wire::Loop& loop);
    BackgroundWork(BackgroundWork const&) = delete;
    /// Does not wait: what is being carried out goes on; what has not begun never does, and `done` of
    /// either is not called any more.
    ~BackgroundWork();

    /// `done` is called on the loop, with what `work` threw or null. Throws SystemError where there can
    /// be no thread.
    void add(std::function<void()> work, std::function<void(std::exception_ptr)> done);

private:
    struct Shared;
    void deliver();
    std::shared_ptr<Shared> shared_;
    wire::Loop::Handle ready_;
};

}  // namespace sinew::process
