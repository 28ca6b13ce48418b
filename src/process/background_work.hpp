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

/// Executes work that may block for long (a disk) one item after the other on a separate thread,
/// and reports each end on the loop. Call all methods with the guard held; the work itself runs
/// without it.
class BackgroundWork {
public:
    explicit BackgroundWork(wire::Loop& loop);
    BackgroundWork(BackgroundWork const&) = delete;
    /// Does not block. Work that is running continues; work that has not begun never will, and
    /// `done` is no longer called for either.
    ~BackgroundWork();

    using Done = std::function<void(std::exception_ptr)>;
    /// Calls `done` once, on the loop, with the exception that `work` threw, or null; with a
    /// Timeout if the work has not ended within `limit` from now. Throws SystemError if no thread
    /// can be started.
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
