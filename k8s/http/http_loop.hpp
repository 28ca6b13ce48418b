// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "k8s/http/registration.hpp"

namespace sinew::k8s {

class Transfer;

/// The descriptors, timers and HTTP transfers of one client, in one epoll set.
///
/// It separates work from callbacks. Work is what the client itself has to do (parse, retry, follow);
/// `turn` does it at once. Callbacks are the user's; they are queued, and only `deliver` calls them. A
/// blocking call therefore turns the loop as long as it has to, and calls no callback.
class HttpLoop {
public:
    using Clock = std::chrono::steady_clock;
    using Work = std::function<void()>;

    /// Throws SystemError.
    HttpLoop();
    HttpLoop(HttpLoop const&) = delete;
    HttpLoop& operator=(HttpLoop const&) = delete;
    ~HttpLoop();

    /// Work at a time, once. Cancelled by destroying the registration.
    [[nodiscard]] Registration at(Clock::time_point when, Work work);
    /// Work whenever the descriptor has one of these epoll events. Throws SystemError.
    [[nodiscard]] Registration when_ready(int fd, std::uint32_t events, Work work);
    /// Callbacks, likewise.
    [[nodiscard]] Registration call_at(Clock::time_point when, Work callback);
    [[nodiscard]] Registration call_when_readable(int fd, Work callback);
    /// Queues a callback. Whoever is destroyed before must make it do nothing.
    void call_soon(Work callback);

    /// Waits until `until` at most for something to do, and does the work that is ready.
    void turn(Clock::time_point until);
    bool has_callbacks() const;
    /// Calls the callbacks that are queued by now. If one throws, the others stay queued.
    void deliver();

    /// Readable if there is work or (after `signal_callbacks`) a callback.
    int fd() const;
    /// To be called after a turn that is not followed by `deliver`.
    void signal_callbacks();

private:
    friend class Transfer;
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew::k8s
