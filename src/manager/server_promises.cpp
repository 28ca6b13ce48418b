// SPDX-License-Identifier: Apache-2.0
// What a server does with calls of objects that other calls will give, and with objects that methods
// make.
#include <sinew/task.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/manager/journal.hpp"
#include "src/manager/server.hpp"

namespace sinew::manager {

void Server::follow(Caller& from, Letter const& letter) {
    auto bytes = letter.bytes;
    auto const head = process::take_value<CallHead>(bytes);
    auto const* const method = head ? detail::find_task({head->method}) : nullptr;
    if (method == nullptr || method->make != nullptr)
        return answer(from, Op::refused, letter.head.number,
                      bytes_of("the manager's program does not know this method. Link the "
                               "library that calls it into it"));
    auto const* const outcome = promises_.find(from.number, head->sequence);
    if (outcome == nullptr) return answer(from, Op::gone, letter.head.number);
    Call call;
    call.client = from.number;
    call.number = letter.head.number;
    call.method = method;
    call.oneway = static_cast<Op>(letter.head.op) == Op::follow_oneway;
    call.arguments = keep(letter, bytes);
    call.reserved = reserve(from, each_entry + bytes.size());
    if (outcome->state == Promises::State::waiting)
        return promises_.wait(from.number, head->sequence, std::move(call));
    carry_on(from, Promises::Outcome(*outcome), std::move(call));
}

void Server::carry_on(Caller const& to, Promises::Outcome const& outcome, Call call) {
    auto const number = call.number;
    switch (outcome.state) {
        case Promises::State::here:
            if (!core_.is_a(outcome.object, call.method->object))
                return answer(to, Op::refused, number,
                              bytes_of(text(detail::task_name(*call.method),
                                            " is no method of the object it was called of")));
            if (stopping_ || !core_.append(outcome.object, std::move(call)))
                answer(to, Op::gone, number);
            return;
        case Promises::State::elsewhere:
            return answer(to, Op::elsewhere, number);
        default:
            return answer(to, outcome.op, number, outcome.bytes);
    }
}

void Server::settle(Client client, std::uint64_t number, Op op, std::span<std::byte const> bytes) {
    auto settled = promises_.answered(client, number, op, bytes, mail_.origin());
    if (!settled || settled->waited.empty()) return;
    auto const peer = peers_.find(client);
    if (peer == peers_.end()) return;
    Caller const to{client, peer->second};
    for (auto& call : settled->waited) carry_on(to, settled->outcome, std::move(call));
    wake();
}

void Server::cancel(Caller const& from, Letter const& letter) {
    auto const id = letter.head.id;
    auto const number = letter.head.number;
    bool cancelled = core_.cancel(id, from.number, number);
    if (id == 0 && !cancelled) {
        cancelled = promises_.cancel(from.number, number);
        for (auto const each : promises_.objects_of(from.number))
            cancelled = cancelled || core_.cancel(each, from.number, number);
    }
    if (cancelled) answer(from, Op::cancelled, number);
}

void Server::recall(Caller const& from, Letter const& letter) {
    auto const id = letter.head.id;
    auto const number = letter.head.number;
    bool over = core_.withdraw(id, from.number, number);
    if (id == 0) {
        over = promises_.cancel(from.number, number);
        for (auto const each : promises_.objects_of(from.number))
            over = over || core_.withdraw(each, from.number, number);
    }
    if (over) answer(from, Op::cancelled, number);
}

ObjectId Server::add_made(detail::TaskEntry const& maker, unsigned parallel,
                          std::shared_ptr<void> instance, std::span<std::byte const> arguments) {
    auto const id =
        core_.add_made(parallel, maker.name, std::move(instance), caller(nullptr).number);
    if (!journal_) return id;
    journal_->add(id, maker, parallel, false);
    journal_->made_here(id, arguments);
    return id;
}

}  // namespace sinew::manager
