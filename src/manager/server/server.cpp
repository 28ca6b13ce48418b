// SPDX-License-Identifier: Apache-2.0
#include "src/manager/server/server.hpp"

#include <algorithm>
#include <sinew/detail/task.hpp>
#include <sinew/remote_error.hpp>
#include <string>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::manager {

Server::Server(Messenger& messenger, std::function<void(Message const&)> answer_here)
    : messenger_(messenger), answer_here_(std::move(answer_here)),
      threads_(messenger, dispatcher_, checkpoints_,
               {.send = [this](auto const& answers, auto bytes) { send(answers, bytes); },
                .unmade = [this](Dropped const& call) { tell_gone(call); },
                .remade = [this] { remade_one(); }}) {}

Server::~Server() = default;

Server::Caller& Server::caller(std::shared_ptr<Peer> const& peer) {
    auto& found = callers_[peer.get()];
    if (found.number == 0) {
        found.number = ++clients_;
        found.peer = peer;
        // A client of another session is refused until its `hello` shows that it is the same build.
        found.refused = peer != nullptr && peer->trust() == process::PeerTrust::inbound_client;
        peers_.emplace(found.number, peer);
    }
    return found;
}

void Server::message(std::shared_ptr<Peer> const& peer, Message const& message) {
    if (is_from_supervisor(message.head.op)) {
        if (peer && peer->trust() == process::PeerTrust::same_session) from_supervisor(message);
        return threads_.wake();
    }
    auto& from = caller(peer);
    if (static_cast<Op>(message.head.op) == Op::hello) {
        auto const& ours = detail::program_identity().text;
        from.refused = peer != nullptr && text_of(message.bytes) != ours;
        return;
    }
    if (from.refused || stopping_) return give_up(from, message);
    serve(from, message);
    threads_.wake();
}

void Server::serve(Caller& from, Message const& message) {
    auto const id = message.head.id;
    auto const number = message.head.number;
    if (message.head.epoch == gives_object)
        promises_.expect(from.number, number, static_cast<Op>(message.head.op) == Op::create,
                         reserve(from, each_entry));
    switch (static_cast<Op>(message.head.op)) {
        case Op::follow:
        case Op::follow_oneway:
            return follow(from, message);
        case Op::forget:
            return promises_.forget(from.number, number);
        case Op::create:
            return create(from, message);
        case Op::call:
        case Op::oneway:
            return call(from, message);
        case Op::skip: {
            auto bytes = message.bytes;
            if (auto const head = take_value<CallHead>(bytes))
                dispatcher_.skip(id, from.number, head->sequence, reserve(from, each_entry));
            return;
        }
        case Op::cancel:
            return cancel(from, message);
        case Op::recall:
            return recall(from, message);
        case Op::hold:
            dispatcher_.hold(id, from.number);
            return;
        case Op::release:
            return dispatcher_.release(id, from.number);
        case Op::detach:
            return detach(from, message);
        case Op::publish:
            return publish(from, message);
        case Op::checkpoint:
            return checkpoint(from, message);
        case Op::lookup:
            return lookup(from, message);
        case Op::meet: {
            Writer address;
            messenger_.own_address().encode_to(address);
            return answer(from, Op::value, number, address.bytes());
        }
        default:
            return;
    }
}

// Handles all messages but `hello` of refused callers, and of all callers after `stop`. Requests
// that expect an answer get a failure.
void Server::give_up(Caller const& from, Message const& message) {
    auto const op = static_cast<Op>(message.head.op);
    if (op == Op::skip || op == Op::cancel || op == Op::recall || op == Op::hold ||
        op == Op::release || op == Op::forget)
        return;
    if (!from.refused) return answer(from, Op::gone, message.head.number);
    answer(from, Op::refused, message.head.number,
           bytes_of(text("the manager runs a different program than its caller (there: ",
                         detail::program_identity().text,
                         "). Both must run the same build, linked with the same libraries")));
}

process::Reservation Server::reserve(Caller const& from, std::size_t bytes) {
    return {from.peer ? from.peer->budget() : nullptr, bytes};
}

Payload Server::keep(Message const& message, std::span<std::byte const> bytes) {
    Payload payload;
    if (message.keeper) {
        payload.keeper = message.keeper;
        payload.bytes = bytes;
    } else {
        payload.own.assign(bytes.begin(), bytes.end());
        payload.bytes = payload.own;
    }
    return payload;
}

void Server::create(Caller& from, Message const& message) {
    auto bytes = message.bytes;
    auto const head = take_value<CallHead>(bytes);
    auto const* const constructor = head ? detail::find_task({head->method}) : nullptr;
    if (constructor == nullptr || constructor->make == nullptr)
        return answer(from, Op::refused, message.head.number,
                      bytes_of("the manager's program does not know how to construct this object. "
                               "Link the library that creates it into that program"));
    auto const parallel = static_cast<unsigned>(std::min<std::uint64_t>(head->sequence, 1024));
    auto const id = dispatcher_.add(parallel, constructor->name,
                                    {.client = from.number,
                                     .number = message.head.number,
                                     .method = constructor,
                                     .makes = true,
                                     .oneway = false,
                                     .arguments = keep(message, bytes),
                                     .reserved = reserve(from, each_entry + bytes.size())});
    if (checkpoints_) checkpoints_->add(id, *constructor, parallel, false);
}

void Server::call(Caller& from, Message const& message) {
    auto bytes = message.bytes;
    auto const head = take_value<CallHead>(bytes);
    auto const* const method = head ? detail::find_task({head->method}) : nullptr;
    if (method == nullptr || method->make != nullptr) {
        if (head)
            dispatcher_.skip(message.head.id, from.number, head->sequence,
                             reserve(from, each_entry));
        return answer(from, Op::refused, message.head.number,
                      bytes_of("the manager's program does not know this method. Link the library "
                               "that calls it into that program"));
    }
    // Checked for every caller: the handle may come from an untrusted process, or refer to an
    // object of an earlier process with this address. Invalid arguments fail to decode, but a
    // method must not run on an object of another type.
    if (!dispatcher_.is_a(message.head.id, method->object)) {
        dispatcher_.skip(message.head.id, from.number, head->sequence, reserve(from, each_entry));
        return answer(from, Op::refused, message.head.number,
                      bytes_of(text(detail::task_name(*method),
                                    " is not a method of the object it was called on")));
    }
    bool const there = dispatcher_.arrive(message.head.id, head->sequence,
                                          {.client = from.number,
                                           .number = message.head.number,
                                           .method = method,
                                           .makes = false,
                                           .oneway = static_cast<Op>(message.head.op) == Op::oneway,
                                           .arguments = keep(message, bytes),
                                           .reserved = reserve(from, each_entry + bytes.size())},
                                          reserve(from, each_entry));
    if (!there) answer(from, Op::gone, message.head.number);
}

void Server::lookup(Caller& from, Message const& message) {
    auto const found = dispatcher_.find(std::string(text_of(message.bytes)));
    if (!found)
        return answer(from, Op::refused, message.head.number,
                      bytes_of(text("there is no object published as ", text_of(message.bytes),
                                    ". Publish one first, or check the spelling")));
    answer(from, Op::found, message.head.number, bytes_of(found->type), found->object);
}

void Server::answer(Caller const& to, Op op, std::uint64_t number, std::span<std::byte const> bytes,
                    ObjectId id) {
    auto const head = manager::head(op, id, number);
    if (to.peer) {
        messenger_.send(to.peer, head, bytes);
    } else {
        auto here = head;
        here.size = bytes.size();
        answer_here_({here, bytes, nullptr});
    }
    if (!promises_.empty()) settle(to.number, number, op, bytes);
}

void Server::send(std::vector<Answer> const& answers, std::span<std::byte const> bytes) {
    messenger_.together([&] {
        for (auto const& each : answers) {
            if (each.later != 0) dispatcher_.answered(each.later, each.to, each.number);
            auto const to = peers_.find(each.to);
            if (to == peers_.end()) continue;  // the caller is lost
            auto const& peer = to->second;
            auto const part = bytes.subspan(each.begin, each.size);
            auto head = manager::head(each.op, 0, each.number);
            head.size = part.size();
            if (!peer) {
                answer_here_({head, part, nullptr});
            } else if (part.size() <= process::small_message) {
                messenger_.send(peer, head, part);
            } else {
                auto const copy =
                    std::make_shared<std::vector<std::byte>>(part.begin(), part.end());
                messenger_.send(peer, head, *copy, copy);
            }
            if (!promises_.empty()) settle(each.to, each.number, each.op, part);
        }
    });
}

void Server::postpone(Work const& work, std::size_t index, std::shared_ptr<Postponed> const& call) {
    Lock const held(messenger_.guard());
    auto const peer = peers_.find(call->client);
    switch (dispatcher_.postpone(work, index, call, peer != peers_.end())) {
        case Fate::cancelled:
            return answer({call->client, peer->second}, Op::cancelled, call->number);
        case Fate::ended:
            return tell_gone({call->client, call->number, true});
        case Fate::waits:
        case Fate::lost:
            return;
    }
}

void Server::send_later(std::vector<Answer> const& answers, Writer const& bytes) {
    auto const held = messenger_.lock();
    send(answers, bytes.bytes());
    threads_.wake();  // the deferred call may have been the last thing that kept an object alive
}

void Server::lost(std::shared_ptr<Peer> const& peer) {
    auto const found = callers_.find(peer.get());
    if (found == callers_.end()) return;
    dispatcher_.lost(found->second.number);
    promises_.lost(found->second.number);
    peers_.erase(found->second.number);
    callers_.erase(found);
    threads_.wake();
}

void Server::tell_gone(Dropped const& call) {
    auto const peer = peers_.find(call.client);
    if (peer == peers_.end()) return;
    std::byte const begun{1};
    answer({call.client, peer->second}, Op::gone, call.number,
           std::span(&begun, call.begun ? 1U : 0U));
}

void Server::stop() {
    if (std::exchange(stopping_, true)) return;
    if (checkpoints_) {
        for (auto const& [client, peer] : peers_)
            if (peer) answer({client, peer}, Op::farewell, 0);
        checkpoints_->open();
    }
    for (auto const& each : dispatcher_.drop_all()) tell_gone(each);
    threads_.stop();
}

// ---- pipelined calls, and objects that methods make ---------------------------------------------

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
    threads_.wake();
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

// ---- for a process that has a supervisor --------------------------------------------------------

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
                    threads_.wake();
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
