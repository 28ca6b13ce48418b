// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/wire/loop_access.hpp"

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "src/wire/surroundings.hpp"

namespace sinew::wire {

/// Once at a time, or again and again.
class Timer final : public Loop::Handle::Body, public std::enable_shared_from_this<Timer> {
public:
    /// `period` 0: once.
    Timer(asio::io_context& io, Surroundings& here, Clock::duration period,
          std::function<void()> work);
    void start(Clock::time_point due);
    void cancel() noexcept override;

private:
    void no_longer_waits() noexcept;
    void fire();

    asio::steady_timer timer_;
    Surroundings& here_;
    Clock::duration period_;
    std::function<void()> work_;
    bool waits_ = false, cancelled_ = false;
};

class Signals final : public Loop::Handle::Body, public std::enable_shared_from_this<Signals> {
public:
    Signals(asio::io_context& io, Surroundings& here, std::function<void(int)> work);
    /// Throws SystemError for what cannot be handled.
    void add(int number);
    void start();
    void cancel() noexcept override;

private:
    asio::signal_set set_;
    Surroundings& here_;
    std::function<void(int)> work_;
    bool cancelled_ = false;
};

}  // namespace sinew::wire
