// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>

#include "src/wire/loop/loop.hpp"

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

    using Done = std::function<void(std::exception_ptr)>;
    /// `done` is called on the loop, once: with what `work` threw, or null; with a Timeout where it has
    /// not ended within `limit` from now, however it ends later. Throws SystemError where there can be no
    /// thread.
    void add(std::function<void()> work, Done done, std::chrono::nanoseconds limit);

private:
    struct Shared;
    struct Awaited {
        Done done;
        wire::Loop::Handle limit;
    };
    void deliver();
    void tell(std::uint64_t number, std::exception_ptr const& error);
    wire::Loop& loop_;
    std::shared_ptr<Shared> shared_;
    wire::Loop::Handle ready_;
    std::map<std::uint64_t, Awaited> awaited_;
    std::uint64_t last_ = 0;
};

}  // namespace sinew::process
