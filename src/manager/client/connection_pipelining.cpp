// SPDX-License-Identifier: Apache-2.0
// Calls of objects that other calls will give.
#include <cstddef>
#include <cstring>
#include <exception>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/manager/client/connection.hpp"
#include "src/manager/client/object.hpp"
#include "src/manager/object_registry.hpp"
#include "src/manager/server/server.hpp"

namespace sinew::manager {

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

// What the manager itself has called, or refused, it answers. All else the caller sends to where the
// object is, at once: what is called of the handle, once somebody has it, comes after that.
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
    } catch (...) {  // it failed there, or cannot be reached from this process
        for (auto const& each : pipelined) {
            if (each.pending->ready()) continue;
            each.pending->fail(std::current_exception());
            pass_on(*each.pending);
        }
    }
}

// Nor of what follows it: the manager that was asked knows as little of that.
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
    if (op == Op::call) pipelined.pending->pass_on_to(entered.pending);  // of the others none hears
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
