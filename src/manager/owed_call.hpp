// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/deferred.hpp>

#include "src/manager/core.hpp"
#include "src/manager/protocol.hpp"

namespace sinew::manager {

class Executor;
class OwedCall;

/// The call that this thread executes, as long as this lives. Calls do not nest within a thread.
class RunningCall {
public:
    RunningCall(Executor& executor, Work const& work, std::size_t index);
    RunningCall(RunningCall const&) = delete;
    ~RunningCall();
    /// Null: this thread executes none.
    static RunningCall* current();

    Work const& work() const { return work_; }
    std::size_t index() const { return index_; }
    Call const& call() const { return (*work_.calls)[index_]; }
    Executor& executor() const { return executor_; }
    /// The answer that it owes, if it is to be given later.
    std::shared_ptr<OwedCall> const& owe();
    void postpone() { postponed_ = true; }
    /// What it returns or throws is its answer, and nothing else will be.
    bool answers() const;

private:
    Executor& executor_;
    Work const& work_;
    std::size_t const index_;
    std::shared_ptr<OwedCall> owed_;
    bool postponed_ = false;
};

/// A call of an object of this process that the object is to answer. Without the guard.
class OwedCall final : public detail::OwedAnswer {
public:
    explicit OwedCall(RunningCall const& running);
    ~OwedCall() override;
    Caller caller() const override { return {call_->client}; }
    bool waiting() const override { return !call_->claimed(); }
    bool answer(Writer const& value) override;
    bool fail(std::exception_ptr error) override;
    void postpone() override;
    bool claim() { return call_->claim(); }

private:
    void send_failure(std::exception_ptr const& error) const;
    void send(Op op, Writer const& bytes) const;
    std::shared_ptr<Postponed> const call_;
    ObjectId const object_;
    detail::TaskEntry const& method_;
    bool const oneway_;
    bool postponed_ = false;
};

}  // namespace sinew::manager
