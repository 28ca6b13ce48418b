// SPDX-License-Identifier: Apache-2.0
#include "src/manager/client/connection.hpp"

#include <cstddef>
#include <cstring>
#include <exception>
#include <sinew/remote_error.hpp>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/base/scope_exit.hpp"
#include "src/base/text.hpp"
#include "src/manager/client/object.hpp"
#include "src/manager/object_registry.hpp"
#include "src/manager/server/server.hpp"

namespace sinew::manager {
namespace {

// Maximum bytes of arguments in flight; further calls block.
constexpr std::size_t most_bytes = std::size_t{64} << 20;

}  // namespace

Connection::Connection(process::Messenger& messenger, process::ProcessAddress address,
                       std::shared_ptr<process::Peer> peer, Server* server,
                       std::size_t most_pending, std::shared_ptr<Incarnation const> incarnation)
    : messenger_(messenger), address_(std::move(address)), peer_(std::move(peer)), server_(server),
      most_pending_(most_pending), incarnation_(std::move(incarnation)) {
    if (peer_) tell(Op::hello, 0, 0, bytes_of(detail::program_identity().text));
}

void Connection::wait_for_room(process::Lock& lock) {
    auto const has_room = [this] {
        return is_lost() || under_way_ == 0 || (under_way_ < most_pending_ && bytes_ < most_bytes);
    };
    if (has_room() || !lock.owns_lock()) return;
    ++waiting_;
    ScopeExit const left([this] { --waiting_; });
    messenger_.wait(lock, room_, process::never, has_room);
}

Connection::Entered Connection::enter(Op op, ObjectId object, detail::TaskEntry const* method,
                                      std::size_t bytes) {
    if (is_lost()) {
        auto pending = std::make_shared<PendingReply>(shared_from_this(), method, object, 0);
        pending->fail(lost_error(*pending, false));
        return {std::move(pending), 0};
    }
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    auto const index = free_.back();
    free_.pop_back();
    auto& slot = slots_[index];
    auto const number = std::uint64_t{++slot.round} << 32 | index;
    auto pending = std::make_shared<PendingReply>(shared_from_this(), method, object, number);
    slot.pending = op == Op::oneway || op == Op::follow_oneway ? nullptr : pending;
    slot.bytes = bytes;
    slot.taken = true;
    ++under_way_;
    bytes_ += bytes;
    return {std::move(pending), number};
}

std::shared_ptr<PendingReply> Connection::call(process::Lock& lock, Op op, ObjectId object,
                                               detail::TaskEntry const* method, Writer& bytes,
                                               std::uint64_t& row, std::uint32_t gives) {
    if (method != nullptr) refuse_large(lock, *method, bytes.size());
    wait_for_room(lock);
    send_forgotten();
    auto entered = enter(op, object, method, bytes.size());
    if (is_lost()) return entered.pending;
    if (gives != 0) entered.pending->give_object(op == Op::create);
    auto const sequence = ++row;
    bytes.overwrite(offsetof(CallHead, sequence), &sequence, sizeof sequence);
    send(lock, op, object, entered.number, bytes.bytes(), gives);
    return entered.pending;
}

void Connection::refuse_large(process::Lock const& lock, detail::TaskEntry const& method,
                              std::size_t bytes) const {
    if (here() || lock.owns_lock() || bytes <= process::small_message) return;
    throw UsageError(text("arguments of ", bytes, " bytes, for ", detail::task_name(method),
                          ", within a callback (which must not "
                          "wait until they have left). Call it in another thread"));
}

std::shared_ptr<PendingReply> Connection::ask(process::Lock& lock, Op op, ObjectId object,
                                              std::span<std::byte const> bytes) {
    wait_for_room(lock);
    auto entered = enter(op, object, nullptr, bytes.size());
    if (!is_lost()) send(lock, op, object, entered.number, bytes);
    return entered.pending;
}

void Connection::send(process::Lock& lock, Op op, ObjectId object, std::uint64_t number,
                      std::span<std::byte const> bytes, std::uint32_t gives) {
    if (here() || !lock.owns_lock()) return tell(op, object, number, bytes, gives);
    auto head = manager::head(op, object, number);
    head.epoch = gives;
    messenger_.send_waiting(lock, peer_, head, bytes, process::never);
    messenger_.poll_once(lock);
}

void Connection::tell(Op op, ObjectId object, std::uint64_t number,
                      std::span<std::byte const> bytes, std::uint32_t gives) {
    auto head = manager::head(op, object, number);
    head.epoch = gives;
    if (!here()) return messenger_.send(peer_, head, bytes);
    head.size = bytes.size();
    server_->message(nullptr, {head, bytes, nullptr});
}

// Keeps the guest address: the manager's other addresses are valid only in its own session.
void Connection::introduce(process::ProcessAddress const& itself) {
    address_.origin = itself.origin;
    address_.name = itself.name;
}

void Connection::message(process::Message const& message) {
    if (static_cast<Op>(message.head.op) == Op::farewell) return set_last();
    auto const index = static_cast<std::uint32_t>(message.head.number);
    if (index >= slots_.size()) return;
    auto const pending = vacate(index, message.head.number >> 32);
    if (waiting_ > 0) messenger_.runtime().loop_leader().notify_all(room_);
    if (!pending) return;
    // The answer may make calls of this connection, which may move all slots.
    answer(*pending, message);
    pass_on(*pending);
}

std::shared_ptr<PendingReply> Connection::vacate(std::uint32_t index, std::uint64_t round) {
    auto& slot = slots_[index];
    if (!slot.taken || slot.round != round) return nullptr;
    slot.taken = false;
    free_.push_back(index);
    --under_way_;
    bytes_ -= slot.bytes;
    return std::exchange(slot.pending, nullptr);
}

void Connection::answer(PendingReply& pending, process::Message const& message) {
    auto const words = std::string(text_of(message.bytes));
    switch (static_cast<Op>(message.head.op)) {
        case Op::value:
        case Op::done:
        case Op::found:
            return pending.succeed(message);
        case Op::failure:
            try {
                Reader reader(message.bytes);
                return pending.fail(detail::revive(ErrorRecord::decode_from(reader)));
            } catch (DecodeError const&) {
                return pending.fail(std::current_exception());
            }
        case Op::gone:
            if (!message.bytes.empty())
                return pending.fail(std::make_exception_ptr(ObjectLost(
                    text(pending.text(),
                         ": its manager has ended, and the object had not answered by then"),
                    true)));
            return pending.fail(std::make_exception_ptr(
                ObjectLost(text(pending.text(),
                                ": the object no longer exists (its manager is ending, or no "
                                "process had a handle of it). Keep a handle, or detach() it"),
                           false)));
        case Op::elsewhere:  // unexpected: a call that was passed on has left its slot
            return pending.fail(std::make_exception_ptr(ObjectLost(
                text(pending.text(), ": ", name(),
                     " says that the object lives in another manager, but had not said in "
                     "which. Does it run the same build?"),
                false)));
        case Op::ended:
            return pending.fail(std::make_exception_ptr(ObjectLost(words, false)));
        case Op::cancelled:
            return pending.fail(
                std::make_exception_ptr(Cancelled(text(pending.text(), " was cancelled"))));
        default:
            return pending.fail(
                std::make_exception_ptr(UsageError(text(pending.text(), ": ", words))));
    }
}

std::exception_ptr Connection::lost_error(PendingReply const& call, bool maybe_executed) const {
    auto const* const executed =
        maybe_executed ? "; the call may have been executed" : "; the call was not sent";
    if (incarnation_ && !incarnation_->is_last() && !is_last_)
        return std::make_exception_ptr(ObjectRestarted(
            text(call.text(), ": the manager's process is gone (", why_lost_,
                 "), and is being started again", executed,
                 ". refresh() the handle to continue with the object that is created again"),
            maybe_executed));
    auto const restarts = incarnation_ && !is_last_ ? text(", after ", incarnation_->number,
                                                           " restarts, the most allowed")
                                                    : std::string();
    return std::make_exception_ptr(
        ObjectLost(text(call.text(), ": the manager is gone (", why_lost_, restarts, ")", executed),
                   maybe_executed));
}

void Connection::set_cause(std::string const& cause) {
    cause_ = cause;
    if (is_lost()) why_lost_ = cause;
}

void Connection::lost(std::string const& why) {
    why_lost_ = !cause_.empty() ? cause_ : !why.empty() ? why : "its process has ended";
    auto const slots = std::exchange(slots_, {});
    free_.clear();
    for (auto const& each : slots)
        if (each.pending) each.pending->fail(lost_error(*each.pending, true));
    under_way_ = bytes_ = 0;
    messenger_.runtime().loop_leader().notify_all(room_);
}

// ---- pipelined calls ----------------------------------------------------------------------------

std::shared_ptr<PendingReply> Connection::follow(process::Lock& lock,
                                                 std::shared_ptr<PendingReply> const& target,
                                                 PipelinedCall pipelined, Writer& bytes) {
    refuse_large(lock, *pipelined.method, bytes.size());
    wait_for_room(lock);
    if (target->ready()) return nullptr;
    send_forgotten();
    auto const number = target->number();
    bytes.overwrite(offsetof(CallHead, sequence), &number, sizeof number);
    pipelined.bytes =
        std::make_shared<std::vector<std::byte>>(bytes.bytes().begin(), bytes.bytes().end());
    if (target->is_passed_on()) {
        pipelined.pending =
            std::make_shared<PendingReply>(shared_from_this(), pipelined.method, 0, 0);
        pipelined.pending->await_target();
        target->add_pipelined(pipelined);
        return pipelined.pending;
    }
    auto entered = enter(pipelined.op, 0, pipelined.method, bytes.size());
    if (is_lost()) return entered.pending;
    if (pipelined.gives_object != 0) entered.pending->give_object(false);
    pipelined.pending = entered.pending;
    pipelined.number = entered.number;
    target->add_pipelined(pipelined);
    send(lock, pipelined.op, 0, entered.number, bytes.bytes(), pipelined.gives_object);
    return entered.pending;
}

// The manager answers the pipelined calls that it executed or refused itself. This process sends
// all others to the object's manager at once, so that later calls through the handle come after
// them.
void Connection::pass_on(PendingReply& target) {
    auto pipelined = target.take_pipelined();
    if (pipelined.empty() || is_answered_there(target)) return;
    std::erase_if(pipelined, [](auto const& each) { return each.pending->ready(); });  // cancelled
    if (pipelined.empty()) return;
    for (auto const& each : pipelined) expect_no_answer(each);
    try {
        if (target.failed()) std::rethrow_exception(target.error());
        auto whole = target.bytes();
        auto const end = ObjectRegistry::existing().read_object(whole, pipelined.front().type);
        for (auto const& each : pipelined) static_cast<RemoteObject&>(*end).call_instead(each);
    } catch (...) {  // the target failed, or its object cannot be reached from this process
        for (auto const& each : pipelined) {
            if (each.pending->ready()) continue;
            each.pending->fail(std::current_exception());
            pass_on(*each.pending);
        }
    }
}

// Includes the calls that are pipelined on this one: the manager will not answer those either.
void Connection::expect_no_answer(PipelinedCall const& pipelined) {
    auto const index = static_cast<std::uint32_t>(pipelined.number);
    if (pipelined.number != 0 && index < slots_.size() &&
        slots_[index].pending == pipelined.pending)
        slots_[index].pending = nullptr;
    pipelined.pending->await_target();
    for (auto const& each : pipelined.pending->pipelined()) expect_no_answer(each);
}

bool Connection::is_answered_there(PendingReply const& target) const {
    if (target.is_passed_on()) return false;
    if (target.error() || target.makes()) return true;
    try {
        auto reader = target.bytes();
        return process::ProcessAddress::decode_from(reader).origin == address_.origin;
    } catch (DecodeError const&) {
        return true;
    }
}

void Connection::call_instead(ObjectId object, std::uint64_t& row, PipelinedCall const& pipelined) {
    auto const op = pipelined.op == Op::follow ? Op::call : Op::oneway;
    if (is_lost()) {
        pipelined.pending->fail(lost_error(*pipelined.pending, false));
        return pass_on(*pipelined.pending);
    }
    auto const entered = enter(op, object, pipelined.method, pipelined.bytes->size());
    if (pipelined.gives_object != 0) entered.pending->give_object(false);
    if (op == Op::call) pipelined.pending->pass_on_to(entered.pending);  // one-way: nothing waits
    auto const sequence = ++row;
    std::memcpy(pipelined.bytes->data() + offsetof(CallHead, sequence), &sequence, sizeof sequence);
    auto head = manager::head(op, object, entered.number);
    head.epoch = pipelined.gives_object;
    if (!here()) return messenger_.send(peer_, head, *pipelined.bytes, pipelined.bytes);
    head.size = pipelined.bytes->size();
    server_->message(nullptr, {head, *pipelined.bytes, pipelined.bytes});
}

void Connection::forget_later(std::uint64_t number, ObjectId unused) {
    std::scoped_lock const lock(forgotten_guard_);
    forgotten_.emplace_back(number, unused);
    any_forgotten_.store(true, std::memory_order_release);
}

void Connection::send_forgotten() {
    if (!any_forgotten_.load(std::memory_order_relaxed)) return;
    std::vector<std::pair<std::uint64_t, ObjectId>> forgotten;
    {
        std::scoped_lock const lock(forgotten_guard_);
        any_forgotten_.store(false, std::memory_order_relaxed);
        forgotten.swap(forgotten_);
    }
    if (is_lost()) return;
    for (auto const& [number, unused] : forgotten) {
        tell(Op::forget, 0, number);
        if (unused != 0 && !ObjectRegistry::existing().knows(*this, unused))
            tell(Op::release, unused);
    }
}

}  // namespace sinew::manager
