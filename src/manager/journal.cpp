// SPDX-License-Identifier: Apache-2.0
#include "src/manager/journal.hpp"

#include <algorithm>
#include <exception>
#include <sinew/encoding.hpp>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/manager/executor.hpp"
#include "src/task/demangle.hpp"

namespace sinew::manager {
namespace {

using process::Clock;
using process::Lock;

// Records of objects that this thread has made within the call that it is at.
thread_local std::vector<Escrow::Record> made_by_this_thread;

std::shared_ptr<Writer> record_of(RecordHead const& head) {
    auto record = std::make_shared<Writer>();
    record->write(&head, sizeof head);
    return record;
}

}  // namespace

Journal::Journal(process::Mail& mail, Line line, Hands hands)
    : mail_(mail), line_(std::move(line)), hands_(std::move(hands)),
      maker_(mail.find(line_.maker)) {}

void Journal::add(ObjectId id, detail::TaskEntry const& maker, std::uint64_t parallel, bool again) {
    if (open_) return;
    auto const* const keeping = maker.keeping;
    auto const checkpoints = keeping != nullptr && keeping->checkpoints != nullptr
                                 ? *keeping->checkpoints
                                 : line_.checkpoints;
    escrow_.add(id, keeping != nullptr, checkpoints.every_calls);
    auto const interval = keeping != nullptr ? checkpoints.interval : std::chrono::nanoseconds(0);
    objects_[id] = {&maker, parallel, interval, Clock::now(), again};
    if (interval.count() <= 0 || (period_.count() > 0 && period_ <= interval)) return;
    period_ = interval;
    auto const period = std::max<Clock::duration>(interval, std::chrono::milliseconds(1));
    watch_ = mail_.runtime().loop().every(
        period, [this] { mail_.on_loop([this] { look_at_intervals(); }); });
}

void Journal::look_at_intervals() {
    auto const now = Clock::now();
    for (auto const id : escrow_.changed()) {
        auto& object = objects_.at(id);
        if (object.interval.count() <= 0 || now - object.saved < object.interval) continue;
        object.saved = now;
        Call save;
        save.saves = Saves::if_changed;
        hands_.append(id, std::move(save));
    }
}

void Journal::send(Op op, std::uint64_t number, std::shared_ptr<Writer const> const& record) {
    auto head = manager::head(op, line_.lineage, number);
    head.epoch = line_.incarnation;
    mail_.together([&] { mail_.send(maker_, head, record->bytes(), record); });
}

Escrow::Record Journal::tell(Op op, ObjectId id, std::span<std::byte const> bytes) {
    auto const number = escrow_.sent(id);
    auto const record = record_of({.key = line_.key, .object = id});
    record->write(bytes.data(), bytes.size());
    send(op, number, record);
    return number;
}

Escrow::Record Journal::tell_made(ObjectId id, std::span<std::byte const> arguments) {
    auto const& object = objects_.at(id);
    auto const number = escrow_.sent_made(id);
    auto const record =
        record_of({line_.key, id, detail::id_of(*object.maker).value, object.parallel});
    record->write(arguments.data(), arguments.size());
    send(Op::made, number, record);
    return number;
}

void Journal::made_here(ObjectId id, std::span<std::byte const> arguments) {
    if (open_) return;
    auto const record = tell_made(id, arguments);
    if (Executor::current() != 0) made_by_this_thread.push_back(record);
}

void Journal::ended(ObjectId id) {
    if (objects_.erase(id) == 0) return;
    if (escrow_.end(id)) send(Op::destroyed, 0, record_of({.key = line_.key, .object = id}));
}

void Journal::named(ObjectId id, std::string const& name, std::shared_ptr<Parcel> const& answer) {
    if (open_) return hands_.send(*answer);
    escrow_.depend(answer, {tell(Op::named, id, bytes_of(name))});
}

void Journal::detached(ObjectId id, std::shared_ptr<Parcel> const& answer) {
    if (open_) return hands_.send(*answer);
    escrow_.depend(answer, {tell(Op::detached, id, {})});
}

void Journal::kept(Escrow::Record record) {
    auto const kept = escrow_.kept(record);
    for (auto const& parcel : kept.leave) hands_.send(*parcel);
    if (kept.ended != 0)
        send(Op::destroyed, 0, record_of({.key = line_.key, .object = kept.ended}));
    if (kept.save == 0) return;
    Call save;
    save.saves = Saves::if_changed;
    hands_.append(kept.save, std::move(save));
}

void Journal::not_kept(Escrow::Record record, std::string const& why) {
    ErrorRecord error;
    error.type = "sinew::SystemError";
    error.what = text("it was executed, but is not kept: ", why);
    log_warning(error.what);
    for (auto const& each : escrow_.depending(record)) turn_into_failures(*each, error);
    kept(record);
}

void Journal::remade() { send(Op::remade, 0, record_of({.key = line_.key})); }

void Journal::open() {
    if (std::exchange(open_, true)) return;
    watch_ = {};
    for (auto const& parcel : escrow_.open()) hands_.send(*parcel);
    objects_.clear();
}

void Journal::executed(Executed const& executed) {
    auto const parcel = std::make_shared<Parcel>();
    parcel->answers = executed.answers;
    parcel->bytes.assign(executed.bytes.bytes().begin(), executed.bytes.bytes().end());
    auto const made = std::exchange(made_by_this_thread, {});
    Lock lock(mail_.guard());
    auto const found = objects_.find(executed.object);
    if (open_ || found == objects_.end()) return hands_.send(*parcel);
    auto const object = found->second;
    escrow_.depend(parcel, made);
    if (executed.making != nullptr && !object.again)
        tell_made(executed.object, executed.making->arguments.bytes);
    auto const decision = escrow_.executed(executed.object, executed.calls, executed.saves, parcel);
    if (decision.kind == Escrow::Decision::Kind::save)
        save(lock, executed, object, decision.record);
    else if (parcel->missing == 0) hands_.send(*parcel);
}

void Journal::save(Lock& lock, Executed const& executed, Object const& object,
                   Escrow::Record number) {
    auto const record = record_of({.key = line_.key, .object = executed.object});
    std::optional<ErrorRecord> failed;
    lock.unlock();  // what is saved is the user's
    try {
        object.maker->keeping->save(executed.instance, *record);
    } catch (...) {
        failed = detail::describe(std::current_exception());
        failed->function = text(detail::demangle(object.maker->name), "::save");
    }
    lock.lock();
    if (open_) return;
    if (auto const still = objects_.find(executed.object); still != objects_.end())
        still->second.saved = Clock::now();
    if (!failed) {
        escrow_.saved(executed.object, number, record->size());
        return send(Op::state, number, record);
    }
    log_warning(text("a state could not be saved: ", failed->text()));
    for (auto const& each : escrow_.depending(number)) turn_into_failures(*each, *failed);
    kept(number);
}

// What was executed, and cannot be kept, is not answered as if it were.
void Journal::turn_into_failures(Parcel& parcel, ErrorRecord const& error) {
    Writer bytes;
    error.encode_to(bytes);
    parcel.bytes.assign(bytes.bytes().begin(), bytes.bytes().end());
    for (auto& answer : parcel.answers) {
        bool const waited_for = answer.op != Op::done;
        if (waited_for) answer.op = Op::failure;
        answer.begin = 0;
        answer.size = waited_for ? bytes.size() : 0;
    }
}

}  // namespace sinew::manager
