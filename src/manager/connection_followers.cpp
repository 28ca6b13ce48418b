// SPDX-License-Identifier: Apache-2.0
// Calls of objects that other calls will give.
#include <cstddef>
#include <cstring>
#include <exception>
#include <sinew/encoding.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/manager/connection.hpp"
#include "src/manager/desk.hpp"
#include "src/manager/object.hpp"
#include "src/manager/server.hpp"

namespace sinew::manager {

std::shared_ptr<Pending> Connection::follow(process::Lock& lock,
                                            std::shared_ptr<Pending> const& target,
                                            Follower follower, Writer& bytes) {
    refuse_large(lock, *follower.method, bytes.size());
    wait_for_room(lock);
    if (target->ready()) return nullptr;
    send_forgotten();
    auto const number = target->number();
    bytes.overwrite(offsetof(CallHead, sequence), &number, sizeof number);
    follower.bytes =
        std::make_shared<std::vector<std::byte>>(bytes.bytes().begin(), bytes.bytes().end());
    if (target->is_passed_on()) {
        follower.pending = std::make_shared<Pending>(shared_from_this(), follower.method, 0, 0);
        follower.pending->await_target();
        target->add_follower(follower);
        return follower.pending;
    }
    auto entered = enter(follower.op, 0, follower.method, bytes.size());
    if (is_lost()) return entered.pending;
    if (follower.gives_object != 0) entered.pending->give_object(false);
    follower.pending = entered.pending;
    follower.number = entered.number;
    target->add_follower(follower);
    send(lock, follower.op, 0, entered.number, bytes.bytes(), follower.gives_object);
    return entered.pending;
}

// What the manager itself has called, or refused, it answers. All else the caller sends to where the
// object is, at once: what is called of the handle, once somebody has it, comes after that.
void Connection::pass_on(Pending& target) {
    auto followers = target.take_followers();
    if (followers.empty() || is_answered_there(target)) return;
    std::erase_if(followers, [](auto const& each) { return each.pending->ready(); });  // cancelled
    if (followers.empty()) return;
    for (auto const& each : followers) expect_no_answer(each);
    try {
        if (target.failed()) std::rethrow_exception(target.error());
        auto whole = target.bytes();
        auto const end = Desk::existing().read_object(whole, followers.front().type);
        for (auto const& each : followers) static_cast<RemoteObject&>(*end).call_instead(each);
    } catch (...) {  // it failed there, or cannot be reached from this process
        for (auto const& each : followers) {
            if (each.pending->ready()) continue;
            each.pending->fail(std::current_exception());
            pass_on(*each.pending);
        }
    }
}

// Nor of what follows it: the manager that was asked knows as little of that.
void Connection::expect_no_answer(Follower const& follower) {
    auto const index = static_cast<std::uint32_t>(follower.number);
    if (follower.number != 0 && index < slots_.size() && slots_[index].pending == follower.pending)
        slots_[index].pending = nullptr;
    follower.pending->await_target();
    for (auto const& each : follower.pending->followers()) expect_no_answer(each);
}

bool Connection::is_answered_there(Pending const& target) const {
    if (target.is_passed_on()) return false;
    if (target.error() || target.makes()) return true;
    try {
        auto reader = target.bytes();
        return process::ProcessAddress::decode_from(reader).origin == address_.origin;
    } catch (DecodeError const&) {
        return true;
    }
}

void Connection::call_instead(ObjectId object, std::uint64_t& row, Follower const& follower) {
    auto const op = follower.op == Op::follow ? Op::call : Op::oneway;
    if (is_lost()) {
        follower.pending->fail(lost_error(*follower.pending, false));
        return pass_on(*follower.pending);
    }
    auto const entered = enter(op, object, follower.method, follower.bytes->size());
    if (follower.gives_object != 0) entered.pending->give_object(false);
    if (op == Op::call) follower.pending->pass_on_to(entered.pending);  // of the others none hears
    auto const sequence = ++row;
    std::memcpy(follower.bytes->data() + offsetof(CallHead, sequence), &sequence, sizeof sequence);
    auto head = manager::head(op, object, entered.number);
    head.epoch = follower.gives_object;
    if (!here()) return mail_.send(peer_, head, *follower.bytes, follower.bytes);
    head.size = follower.bytes->size();
    server_->letter(nullptr, {head, *follower.bytes, follower.bytes});
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
        if (unused != 0 && !Desk::existing().knows(*this, unused)) tell(Op::release, unused);
    }
}

}  // namespace sinew::manager
