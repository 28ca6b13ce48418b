// SPDX-License-Identifier: Apache-2.0
// The methods of Server for pipelined calls, and for objects that methods make.
#include <sinew/detail/task.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/manager/server/checkpoint_client.hpp"
#include "src/manager/server/server.hpp"

namespace sinew::manager {

void Server::follow(Caller& from, Message const& message) {
    auto bytes = message.bytes;
    auto const head = take_value<CallHead>(bytes);
    auto const* const method = head ? detail::find_task({head->method}) : nullptr;
    if (method == nullptr || method->make != nullptr)
        return answer(from, Op::refused, message.head.number,
                      bytes_of("the manager's program does not know this method. Link the library "
                               "that calls it into that program"));
    auto const* const outcome = promises_.find(from.number, head->sequence);
    if (outcome == nullptr) return answer(from, Op::gone, message.head.number);
    Call call;
    call.client = from.number;
    call.number = message.head.number;
    call.method = method;
    call.oneway = static_cast<Op>(message.head.op) == Op::follow_oneway;
    call.arguments = keep(message, bytes);
    call.reserved = reserve(from, each_entry + bytes.size());
    if (outcome->state == Promises::State::waiting)
        return promises_.wait(from.number, head->sequence, std::move(call));
    carry_on(from, Promises::Outcome(*outcome), std::move(call));
}

void Server::carry_on(Caller const& to, Promises::Outcome const& outcome, Call call) {
    auto const number = call.number;
    switch (outcome.state) {
        case Promises::State::here:
            if (!dispatcher_.is_a(outcome.object, call.method->object))
                return answer(to, Op::refused, number,
                              bytes_of(text(detail::task_name(*call.method),
                                            " is not a method of the object it was called on")));
            if (stopping_ || !dispatcher_.append(outcome.object, std::move(call)))
                answer(to, Op::gone, number);
            return;
        case Promises::State::elsewhere:
            return answer(to, Op::elsewhere, number);
        default:
            return answer(to, outcome.op, number, outcome.bytes);
    }
}

void Server::settle(Client client, std::uint64_t number, Op op, std::span<std::byte const> bytes) {
    auto settled = promises_.answered(client, number, op, bytes, messenger_.origin());
    if (!settled || settled->waited.empty()) return;
    auto const peer = peers_.find(client);
    if (peer == peers_.end()) return;
    Caller const to{client, peer->second};
    for (auto& call : settled->waited) carry_on(to, settled->outcome, std::move(call));
    wake();
}

void Server::cancel(Caller const& from, Message const& message) {
    auto const id = message.head.id;
    auto const number = message.head.number;
    bool cancelled = dispatcher_.cancel(id, from.number, number);
    if (id == 0 && !cancelled) {
        cancelled = promises_.cancel(from.number, number);
        for (auto const each : promises_.objects_of(from.number))
            cancelled = cancelled || dispatcher_.cancel(each, from.number, number);
    }
    if (cancelled) answer(from, Op::cancelled, number);
}

void Server::recall(Caller const& from, Message const& message) {
    auto const id = message.head.id;
    auto const number = message.head.number;
    bool over = dispatcher_.withdraw(id, from.number, number);
    if (id == 0) {
        over = promises_.cancel(from.number, number);
        for (auto const each : promises_.objects_of(from.number))
            over = over || dispatcher_.withdraw(each, from.number, number);
    }
    if (over) answer(from, Op::cancelled, number);
}

ObjectId Server::add_made(detail::TaskEntry const& constructor, unsigned parallel,
                          std::shared_ptr<void> instance, std::span<std::byte const> arguments) {
    auto const id = dispatcher_.add_made(parallel, constructor.name, std::move(instance),
                                         caller(nullptr).number);
    if (!checkpoints_) return id;
    checkpoints_->add(id, constructor, parallel, false);
    checkpoints_->made_here(id, arguments);
    return id;
}

}  // namespace sinew::manager
