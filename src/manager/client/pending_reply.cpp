// SPDX-License-Identifier: Apache-2.0
#include "src/manager/client/pending_reply.hpp"

#include <cstddef>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/manager/client/connection.hpp"
#include "src/manager/object_registry.hpp"
#include "src/manager/server/executor.hpp"

namespace sinew::manager {

PendingReply::~PendingReply() {
    if (!gives_object_ || number_ == 0) return;
    // Sent later: the last reference may be dropped with or without the guard.
    auto unused = ObjectId{0};
    if (makes_ && ready() && !error_ && !end_) {
        auto reader = bytes();
        unused = decode<ObjectId>(reader);
    }
    connection_->forget_later(number_, unused);
}

bool PendingReply::wait_until(std::chrono::steady_clock::time_point deadline) {
    if (ready()) return true;
    if (process::Runtime::forked()) process::Runtime::instance();  // throws in a forked process
    auto& messenger = connection_->messenger();
    auto lock = messenger.lock();
    if (!lock.owns_lock())
        throw UsageError(sinew::text("waiting for ", text(),
                                     " in a callback (which must not wait: "
                                     "nothing would arrive meanwhile). Wait in another thread"));
    if (connection_->here() && object_ != 0 && Executor::current() == object_)
        throw UsageError(sinew::text("waiting for ", text(),
                                     " within a call of the same object (it "
                                     "would wait for its own end). Call its method directly"));
    return messenger.wait(lock, changed_, deadline, [this] { return ready(); });
}

Reader PendingReply::result() {
    if (error_) std::rethrow_exception(error_);
    return Reader(result_.bytes);
}

void PendingReply::cancel() {
    if (ready()) return;
    auto const lock = connection_->messenger().lock();
    if (ready()) return;
    if (next_) next_->connection_->cancel(next_->object_, next_->number_);
    else if (!cancel_waiting()) connection_->cancel(object_, number_);
}

std::shared_ptr<detail::ObjectEnd> PendingReply::object(char const* type) {
    auto reader = result();
    auto& registry = ObjectRegistry::instance();
    auto const lock = connection_->messenger().lock();
    if (!end_)
        end_ = makes_ ? registry.object(connection_, decode<ObjectId>(reader), type, true)
                      : registry.read_object(reader, type);
    return end_;
}

std::shared_ptr<detail::PendingCall> PendingReply::then_call(detail::TaskEntry const& method,
                                                             Writer& arguments, char const* type,
                                                             detail::CallKind kind) {
    auto const id = detail::id_of(method).value;
    arguments.overwrite(offsetof(CallHead, method), &id, sizeof id);
    if (!ready()) {
        auto lock = connection_->messenger().lock();
        bool const oneway = kind == detail::CallKind::oneway;
        PipelinedCall pipelined{
            .op = oneway ? Op::follow_oneway : Op::follow,
            .method = &method,
            .type = type,
            .gives_object = kind == detail::CallKind::gives_object ? gives_object : 0,
            .bytes = nullptr,
            .pending = nullptr};
        if (auto sent =
                connection_->follow(lock, shared_from_this(), std::move(pipelined), arguments))
            return sent;
    }
    if (error_) return fail_like_this(method);
    auto const end = object(type);
    if (kind != detail::CallKind::oneway) return end->call(method, arguments, kind);
    end->oneway(method, arguments);
    return nullptr;
}

// If the manager is lost, the first call may have been executed, but this one was never sent.
std::shared_ptr<detail::PendingCall> PendingReply::fail_like_this(detail::TaskEntry const& method) {
    auto const lock = connection_->messenger().lock();
    auto failed = std::make_shared<PendingReply>(connection_, &method, 0, 0);
    failed->fail(connection_->is_lost() ? connection_->lost_error(*failed, false) : error_);
    return failed;
}

// Cancels a call that waits for its target. Returns false if a manager has the call already.
bool PendingReply::cancel_waiting() {
    if (!awaits_target_) return false;
    auto const self = shared_from_this();
    fail(std::make_exception_ptr(Cancelled(sinew::text(text(), " was cancelled"))));
    connection_->pass_on(*this);
    return true;
}

void PendingReply::pass_on_to(std::shared_ptr<PendingReply> const& next) {
    next_ = next;
    next->before_ = shared_from_this();
}

void PendingReply::withdraw() {
    if (ready()) return;
    auto const lock = connection_->messenger().lock();
    if (ready()) return;
    if (next_) next_->connection_->withdraw(next_->object_, next_->number_);
    else if (!cancel_waiting()) connection_->withdraw(object_, number_);
}

void PendingReply::throw_timeout(std::chrono::nanoseconds limit) {
    throw Timeout(sinew::text(text(), " has not answered within ",
                              std::chrono::duration<double>(limit).count(),
                              " s (the call continues). Wait longer, or cancel() it"));
}

void PendingReply::succeed(process::Message const& message) {
    found_ = message.head.id;
    if (message.keeper) {
        result_.keeper = message.keeper;
        result_.bytes = message.bytes;
    } else {
        result_.own.assign(message.bytes.begin(), message.bytes.end());
        result_.bytes = result_.own;
    }
    settle();
    if (auto const before = std::exchange(before_, nullptr)) {
        before->succeed(message);
        before->connection_->pass_on(*before);
    }
}

void PendingReply::fail(std::exception_ptr error) {
    error_ = std::move(error);
    settle();
    if (auto const before = std::exchange(before_, nullptr)) {
        before->fail(error_);
        before->connection_->pass_on(*before);
    }
}

void PendingReply::settle() {
    ready_.store(true, std::memory_order_release);
    connection_->messenger().runtime().loop_leader().notify_all(changed_);
}

std::string PendingReply::text() const {
    auto const what = method_ != nullptr ? detail::task_name(*method_) : "a question";
    return sinew::text(what, " of an object in ", connection_->name());
}

}  // namespace sinew::manager
