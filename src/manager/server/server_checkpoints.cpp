// SPDX-License-Identifier: Apache-2.0
// The methods of Server for a process that has a supervisor.
#include <algorithm>
#include <sinew/detail/task.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/manager/server/checkpoint_client.hpp"
#include "src/manager/server/server.hpp"
#include "src/task/demangle.hpp"

namespace sinew::manager {

void Server::keep(Incarnation incarnation) {
    // Each incarnation has a separate range of ids: handles of objects of earlier incarnations may
    // exist.
    constexpr int ids_of_a_life = 40;
    dispatcher_.begin_ids(ObjectId{incarnation.number} << ids_of_a_life);
    checkpoints_ = std::make_unique<CheckpointClient>(
        messenger_, std::move(incarnation),
        CheckpointClient::Callbacks{
            .send = [this](HeldReplies const& each) { send(each.answers, each.bytes); },
            .append =
                [this](ObjectId id, Call call) {
                    dispatcher_.append(id, std::move(call));
                    wake();
                }});
}

void Server::detach(Caller& from, Message const& message) {
    if (!dispatcher_.detach(message.head.id)) return answer(from, Op::gone, message.head.number);
    if (!checkpoints_) return answer(from, Op::value, message.head.number);
    auto const done = std::make_shared<HeldReplies>();
    done->answers = {{from.number, Op::value, message.head.number}};
    checkpoints_->detached(message.head.id, done);
}

void Server::publish(Caller& from, Message const& message) {
    std::string const name(text_of(message.bytes));
    if (!dispatcher_.publish(message.head.id, name))
        return answer(from, Op::refused, message.head.number,
                      bytes_of(text("an object cannot be published as ", name,
                                    " (the name is taken). Choose another")));
    if (!checkpoints_) return answer(from, Op::value, message.head.number);
    auto const done = std::make_shared<HeldReplies>();
    done->answers = {{from.number, Op::value, message.head.number}};
    checkpoints_->named(message.head.id, name, done);
}

void Server::checkpoint(Caller& from, Message const& message) {
    auto const id = message.head.id;
    auto bytes = message.bytes;
    auto const head = take_value<CallHead>(bytes);
    if (!head) return;
    if (!checkpoints_ || !checkpoints_->can_save(id)) {
        dispatcher_.skip(id, from.number, head->sequence, reserve(from, each_entry));
        auto const* const why =
            checkpoints_
                ? "the object has no state to save (it is gone, or its type is not "
                  "sinew::Checkpointable). Give it save() and restore()"
                : "the object's state is not saved anywhere (its manager is not started again when "
                  "it dies, and has no folder). Set ManagerOptions::max_restarts, or folder";
        return answer(from, Op::refused, message.head.number, bytes_of(why));
    }
    Call call;
    call.client = from.number;
    call.number = message.head.number;
    call.saves = Saves::yes;
    call.reserved = reserve(from, each_entry);
    if (!dispatcher_.arrive(id, head->sequence, std::move(call), reserve(from, each_entry)))
        answer(from, Op::gone, message.head.number);
}

void Server::from_supervisor(Message const& message) {
    if (!checkpoints_ || message.head.id != checkpoints_->incarnation().key ||
        message.head.epoch != checkpoints_->incarnation().number)
        return;
    switch (static_cast<Op>(message.head.op)) {
        case Op::kept:
            return checkpoints_->kept(message.head.number);
        case Op::unkept:
            return checkpoints_->not_kept(message.head.number, std::string(text_of(message.bytes)));
        case Op::remake:
            return remake(message);
        case Op::all:
            to_remake_ = message.head.number;
            knows_how_many_ = true;
            if (remade_ == to_remake_) checkpoints_->remade();
            return;
        default:
            return;
    }
}

// Trusts the contents: only the supervisor knows the key, and it runs the same program.
void Server::remake(Message const& message) {
    auto bytes = message.bytes;
    auto const head = take_value<RemakeHead>(bytes);
    if (!head || head->arguments > bytes.size() || head->state > bytes.size() - head->arguments)
        return log_warning(
            "an object cannot be created again: its supervisor sent an invalid message");
    auto const* const constructor = detail::find_task({head->constructor});
    if (constructor == nullptr || constructor->make == nullptr) {
        log_warning(
            "an object cannot be created again: the library that creates it is not loaded yet");
        return remade_one();
    }
    auto const arguments = bytes.first(head->arguments);
    auto const state = bytes.subspan(head->arguments, head->state);
    Reader rest(bytes.subspan(head->arguments + head->state));
    Call call;
    call.method = constructor;
    call.makes = true;
    call.arguments = keep(message, arguments);
    if (head->has_state != 0)
        call.state = std::make_shared<std::vector<std::byte> const>(state.begin(), state.end());
    auto const parallel = static_cast<unsigned>(head->parallel);
    dispatcher_.add(parallel, constructor->name, std::move(call), head->object);
    checkpoints_->add(head->object, *constructor, parallel, true);
    if (head->detached != 0) dispatcher_.detach(head->object);
    for (auto const& name : decode<std::vector<std::string>>(rest))
        dispatcher_.publish(head->object, name);
}

// Counts an object that was made again or could not be made; the last one is reported.
void Server::remade_one() {
    if (++remade_ == to_remake_ && knows_how_many_) checkpoints_->remade();
}

}  // namespace sinew::manager
