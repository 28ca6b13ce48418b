// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <sinew/reply.hpp>
#include <string>

#include "src/manager/core.hpp"
#include "src/process/queue_mail.hpp"

namespace sinew::manager {

class Connection;

/// A call as its caller keeps it.
class Pending final : public detail::PendingCall {
public:
    /// `method`: null where something else is asked.
    Pending(std::shared_ptr<Connection> connection, detail::TaskEntry const* method,
            ObjectId object, std::uint64_t number)
        : connection_(std::move(connection)), method_(method), object_(object), number_(number) {}

    bool ready() const override { return ready_.load(std::memory_order_acquire); }
    bool wait_until(std::chrono::steady_clock::time_point deadline) override;
    Reader result() override;
    bool failed() override { return error_ != nullptr; }
    void cancel() override;
    void withdraw() override;
    [[noreturn]] void throw_timeout(std::chrono::nanoseconds limit) override;

    // With the guard held, once.
    void succeed(process::Letter const& letter);
    void fail(std::exception_ptr error);

    /// "CartPole::step(int) of an object in pid 4711 on node-b".
    std::string text() const;
    /// Of a lookup: the object.
    ObjectId found() const { return found_; }

private:
    void settle();
    std::shared_ptr<Connection> const connection_;
    detail::TaskEntry const* const method_;
    ObjectId const object_;
    std::uint64_t const number_;
    std::atomic<bool> ready_{false};
    std::condition_variable changed_;
    Payload result_;
    ObjectId found_ = 0;
    std::exception_ptr error_;
};

}  // namespace sinew::manager
