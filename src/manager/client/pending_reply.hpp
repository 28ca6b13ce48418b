// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <sinew/manager/object.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/manager/protocol.hpp"
#include "src/manager/server/dispatcher.hpp"
#include "src/process/rpc/messenger.hpp"

namespace sinew::manager {

class Connection;

class PendingReply;

/// A call of the object that another call will return, until that has arrived.
struct PipelinedCall {
    Op op = Op::follow;
    detail::TaskEntry const* method = nullptr;
    char const* type = nullptr;  ///< of the object
    std::uint32_t gives_object = 0;
    std::shared_ptr<std::vector<std::byte>> bytes;  ///< a CallHead, arguments
    std::shared_ptr<PendingReply> pending;
    std::uint64_t number = 0;  ///< under which it was sent; 0: it was not sent
};

/// The caller's side of a call.
class PendingReply final : public detail::PendingCall,
                           public std::enable_shared_from_this<PendingReply> {
public:
    /// `method`: null if it is a question, not a call.
    PendingReply(std::shared_ptr<Connection> connection, detail::TaskEntry const* method,
                 ObjectId object, std::uint64_t number)
        : connection_(std::move(connection)), method_(method), object_(object), number_(number) {}

    ~PendingReply() override;

    bool ready() const override { return ready_.load(std::memory_order_acquire); }
    bool wait_until(std::chrono::steady_clock::time_point deadline) override;
    Reader result() override;
    bool failed() override { return error_ != nullptr; }
    void cancel() override;
    void withdraw() override;
    std::shared_ptr<detail::ObjectEnd> object(char const* type) override;
    std::shared_ptr<detail::PendingCall> then_call(detail::TaskEntry const& method,
                                                   Writer& arguments, char const* type,
                                                   detail::CallKind kind) override;
    [[noreturn]] void throw_timeout(std::chrono::nanoseconds limit) override;

    // With the guard held; once.
    void succeed(process::Message const& message);
    void fail(std::exception_ptr error);

    /// "CartPole::step(int) of an object in pid 4711 on node-b".
    std::string text() const;
    /// For a lookup: the object.
    ObjectId found() const { return found_; }

    // With the guard held.
    std::uint64_t number() const { return number_; }
    /// The manager keeps calls of its result until it is there. `makes`: the result is an id.
    void give_object(bool makes) {
        gives_object_ = true;
        makes_ = makes;
    }
    bool makes() const { return makes_; }
    void add_pipelined(PipelinedCall pipelined) { pipelined_.push_back(std::move(pipelined)); }
    std::vector<PipelinedCall> const& pipelined() const { return pipelined_; }
    std::vector<PipelinedCall> take_pipelined() { return std::exchange(pipelined_, {}); }
    std::exception_ptr const& error() const { return error_; }
    Reader bytes() const { return Reader(result_.bytes); }
    /// The call is made at another manager, by `next`; this one gets the outcome of that.
    void pass_on_to(std::shared_ptr<PendingReply> const& next);
    /// The call will be made when its target has arrived; the manager that was asked first will not
    /// answer.
    void await_target() { awaits_target_ = true; }
    bool is_passed_on() const { return awaits_target_ || next_ != nullptr; }

private:
    std::shared_ptr<detail::PendingCall> fail_like_this(detail::TaskEntry const& method);
    void settle();
    bool cancel_waiting();
    std::shared_ptr<Connection> const connection_;
    detail::TaskEntry const* const method_;
    ObjectId const object_;
    std::uint64_t const number_;
    std::atomic<bool> ready_{false};
    std::condition_variable changed_;
    Payload result_;
    ObjectId found_ = 0;
    std::exception_ptr error_;

    bool gives_object_ = false, makes_ = false, awaits_target_ = false;
    std::shared_ptr<detail::ObjectEnd> end_;
    std::vector<PipelinedCall> pipelined_;
    std::shared_ptr<PendingReply> next_, before_;  ///< both until they are ready
};

}  // namespace sinew::manager
