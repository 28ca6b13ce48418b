// SPDX-License-Identifier: Apache-2.0
#include "src/manager/server/deferred_reply.hpp"

#include <future>
#include <sinew/error.hpp>
#include <sinew/remote_error.hpp>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/manager/object_registry.hpp"
#include "src/manager/server/executor.hpp"

namespace sinew::manager {
namespace {

thread_local CallContext* running = nullptr;

CallContext& running_method(char const* wanted) {
    if (running != nullptr && !running->call().makes && running->call().notice == ObjectEvent::none)
        return *running;
    throw UsageError(text(wanted,
                          " outside a method that is called on an object in a manager (it belongs "
                          "to that call). Use it within the method"));
}

}  // namespace

CallContext::CallContext(Executor& executor, Work const& work, std::size_t index)
    : executor_(executor), work_(work), index_(index) {
    running = this;
}

CallContext::~CallContext() { running = nullptr; }

CallContext* CallContext::current() { return running; }

std::shared_ptr<DeferredReply> const& CallContext::owe() {
    if (!owed_) owed_ = std::make_shared<DeferredReply>(*this);
    return owed_;
}

bool CallContext::answers() const { return !postponed_ && (!owed_ || owed_->claim()); }

DeferredReply::DeferredReply(CallContext const& of)
    : call_(std::make_shared<Postponed>(of.call().client, of.call().number)),
      object_(of.work().object), method_(*of.call().method), oneway_(of.call().oneway) {}

DeferredReply::~DeferredReply() {
    if (!postponed_ || !call_->claim()) return;
    send_failure(std::make_exception_ptr(std::future_error(std::future_errc::broken_promise)));
}

bool DeferredReply::answer(Writer const& value) {
    if (!call_->claim()) return false;
    if (oneway_) send(Op::done, Writer());
    else send(Op::value, value);
    return true;
}

bool DeferredReply::fail(std::exception_ptr error) {
    if (!call_->claim()) return false;
    send_failure(error);
    return true;
}

void DeferredReply::send_failure(std::exception_ptr const& error) const {
    auto record = detail::describe(error);
    record.function = detail::task_name(method_);
    if (oneway_) log_warning(text("a one-way call failed: ", record.text()));
    Writer bytes;
    if (!oneway_) record.encode_to(bytes);
    send(oneway_ ? Op::done : Op::failure, bytes);
}

void DeferredReply::send(Op op, Writer const& bytes) const {
    Answer const answer{call_->client, op, call_->number, 0, bytes.size(), object_};
    if (running != nullptr) running->executor().add_later(answer, bytes);
    else ObjectRegistry::instance().serve().send_later({answer}, bytes);
}

void DeferredReply::postpone() {
    auto& call = running_method("a Promise is returned");
    if (call.call().client != call_->client || call.call().number != call_->number)
        throw UsageError(
            "a Promise is returned by a different call than the one that made it. Return one that "
            "the same call has made");
    postponed_ = true;
    call.postpone();
    ObjectRegistry::instance().serve().postpone(call.work(), call.index(), call_);
}

}  // namespace sinew::manager

namespace sinew::detail {

std::shared_ptr<OwedAnswer> owe_answer() {
    return manager::running_method("a Promise is made").owe();
}

}  // namespace sinew::detail

namespace sinew::this_call {

Caller caller() { return {manager::running_method("this_call::caller()").call().client}; }

}  // namespace sinew::this_call
