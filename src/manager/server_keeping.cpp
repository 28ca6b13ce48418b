// SPDX-License-Identifier: Apache-2.0
// What a server does where its process is started anew when it dies.
#include <algorithm>
#include <sinew/task.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/manager/journal.hpp"
#include "src/manager/server.hpp"
#include "src/task/demangle.hpp"

namespace sinew::manager {

void Server::keep(Line line) {
    // No object has an id that another had in an earlier life: somebody may still have a handle of that.
    constexpr int ids_of_a_life = 40;
    core_.begin_ids(ObjectId{line.incarnation} << ids_of_a_life);
    journal_ = std::make_unique<Journal>(
        mail_, std::move(line),
        Journal::Hands{.send = [this](Parcel const& each) { send(each.answers, each.bytes); },
                       .append =
                           [this](ObjectId id, Call call) {
                               core_.append(id, std::move(call));
                               wake();
                           }});
}

void Server::detach(Caller& from, Letter const& letter) {
    if (!core_.detach(letter.head.id)) return answer(from, Op::gone, letter.head.number);
    if (!journal_) return answer(from, Op::value, letter.head.number);
    auto const done = std::make_shared<Parcel>();
    done->answers = {{from.number, Op::value, letter.head.number}};
    journal_->detached(letter.head.id, done);
}

void Server::publish(Caller& from, Letter const& letter) {
    std::string const name(text_of(letter.bytes));
    if (!core_.publish(letter.head.id, name))
        return answer(from, Op::refused, letter.head.number,
                      bytes_of(text("an object cannot be published as ", name,
                                    " (the name is taken). Choose another")));
    if (!journal_) return answer(from, Op::value, letter.head.number);
    auto const done = std::make_shared<Parcel>();
    done->answers = {{from.number, Op::value, letter.head.number}};
    journal_->named(letter.head.id, name, done);
}

void Server::checkpoint(Caller& from, Letter const& letter) {
    auto const id = letter.head.id;
    auto bytes = letter.bytes;
    auto const head = process::take_value<CallHead>(bytes);
    if (!head) return;
    if (!journal_ || !journal_->can_save(id)) {
        core_.skip(id, from.number, head->sequence, reserve(from, each_entry));
        auto const* const why =
            journal_ ? "the object has no state to be kept (it is gone, or its type is not "
                       "sinew::Keepable). Give it save() and restore()"
                     : "nothing keeps the object's state (its manager is not started anew when it "
                       "dies, and has no folder). Set ManagerOptions::max_restarts, or folder";
        return answer(from, Op::refused, letter.head.number, bytes_of(why));
    }
    Call call;
    call.client = from.number;
    call.number = letter.head.number;
    call.saves = Saves::yes;
    call.reserved = reserve(from, each_entry);
    if (!core_.arrive(id, head->sequence, std::move(call), reserve(from, each_entry)))
        answer(from, Op::gone, letter.head.number);
}

void Server::from_maker(Letter const& letter) {
    if (!journal_ || letter.head.id != journal_->line().key ||
        letter.head.epoch != journal_->line().incarnation)
        return;
    switch (static_cast<Op>(letter.head.op)) {
        case Op::kept:
            return journal_->kept(letter.head.number);
        case Op::unkept:
            return journal_->not_kept(letter.head.number, std::string(text_of(letter.bytes)));
        case Op::remake:
            return remake(letter);
        case Op::all:
            to_remake_ = letter.head.number;
            knows_how_many_ = true;
            if (remade_ == to_remake_) journal_->remade();
            return;
        default:
            return;
    }
}

// Only the maker knows the key, and has this same program: what it sends is what it means.
void Server::remake(Letter const& letter) {
    auto bytes = letter.bytes;
    auto const head = process::take_value<RemakeHead>(bytes);
    if (!head || head->arguments > bytes.size() || head->state > bytes.size() - head->arguments)
        return log_warning("an object cannot be made again: its maker sent nonsense");
    auto const* const maker = detail::find_task({head->maker});
    if (maker == nullptr || maker->make == nullptr) {
        log_warning("an object cannot be made again: a library that makes it is not loaded yet");
        return remade_one();
    }
    auto const arguments = bytes.first(head->arguments);
    auto const state = bytes.subspan(head->arguments, head->state);
    Reader rest(bytes.subspan(head->arguments + head->state));
    Call call;
    call.method = maker;
    call.makes = true;
    call.arguments = keep(letter, arguments);
    if (head->has_state != 0)
        call.state = std::make_shared<std::vector<std::byte> const>(state.begin(), state.end());
    auto const parallel = static_cast<unsigned>(head->parallel);
    core_.add(parallel, maker->name, std::move(call), head->object);
    journal_->add(head->object, *maker, parallel, true);
    if (head->detached != 0) core_.detach(head->object);
    for (auto const& name : decode<std::vector<std::string>>(rest))
        core_.publish(head->object, name);
}

// Also those that could not be.
void Server::remade_one() {
    if (++remade_ == to_remake_ && knows_how_many_) journal_->remade();
}

}  // namespace sinew::manager
