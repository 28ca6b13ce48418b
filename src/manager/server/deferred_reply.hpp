// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/manager/deferred.hpp>

#include "src/manager/protocol.hpp"
#include "src/manager/server/dispatcher.hpp"

namespace sinew::manager {

class Executor;
class DeferredReply;

/// The call that this thread executes, while this object exists. Calls do not nest within a thread.
class CallContext {
public:
    CallContext(Executor& executor, Work const& work, std::size_t index);
    CallContext(CallContext const&) = delete;
    ~CallContext();
    /// Null: this thread executes no call.
    static CallContext* current();

    Work const& work() const { return work_; }
    std::size_t index() const { return index_; }
    Call const& call() const { return (*work_.calls)[index_]; }
    Executor& executor() const { return executor_; }
    /// The reply that the call owes if it is answered later.
    std::shared_ptr<DeferredReply> const& owe();
    void postpone() { postponed_ = true; }
    /// Its return value or exception is its answer.
    bool answers() const;

private:
    Executor& executor_;
    Work const& work_;
    std::size_t const index_;
    std::shared_ptr<DeferredReply> owed_;
    bool postponed_ = false;
};

/// The reply that an object of this process owes to a caller. Without the guard.
class DeferredReply final : public detail::OwedAnswer {
public:
    explicit DeferredReply(CallContext const& running);
    ~DeferredReply() override;
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
