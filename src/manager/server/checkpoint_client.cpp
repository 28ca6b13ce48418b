// SPDX-License-Identifier: Apache-2.0
#include "src/manager/server/checkpoint_client.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <sinew/remote_error.hpp>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/manager/server/executor.hpp"
#include "src/task/demangle.hpp"

namespace sinew::manager {
namespace {

using process::Clock;
using process::Lock;

// Records of the objects that this thread has made within its current call.
thread_local std::vector<OutputCommit::Record> made_by_this_thread;

std::shared_ptr<Writer> record_of(RecordHead const& head) {
    auto record = std::make_shared<Writer>();
    record->write(&head, sizeof head);
    return record;
}

}  // namespace

CheckpointClient::CheckpointClient(process::Messenger& messenger, Incarnation incarnation,
                                   Callbacks callbacks)
    : messenger_(messenger), incarnation_(std::move(incarnation)), callbacks_(std::move(callbacks)),
      supervisor_(messenger.find(incarnation_.supervisor)) {}

void CheckpointClient::add(ObjectId id, detail::TaskEntry const& constructor,
                           std::uint64_t parallel, bool again) {
    if (open_) return;
    auto const* const keeping = constructor.persistence;
    auto const checkpoints = keeping != nullptr && keeping->checkpoints != nullptr
                                 ? *keeping->checkpoints
                                 : incarnation_.checkpoints;
    commit_.add(id, keeping != nullptr, checkpoints.every_calls);
    auto const interval = keeping != nullptr ? checkpoints.interval : std::chrono::nanoseconds(0);
    objects_[id] = {&constructor, parallel, interval, Clock::now(), again};
    if (interval.count() <= 0 || (period_.count() > 0 && period_ <= interval)) return;
    period_ = interval;
    auto const period = std::max<Clock::duration>(interval, std::chrono::milliseconds(1));
    watch_ = messenger_.runtime().loop().every(
        period, [this] { messenger_.on_loop([this] { look_at_intervals(); }); });
}

void CheckpointClient::look_at_intervals() {
    auto const now = Clock::now();
    for (auto const id : commit_.changed()) {
        auto& object = objects_.at(id);
        if (object.interval.count() <= 0 || now - object.saved < object.interval) continue;
        object.saved = now;
        Call save;
        save.saves = Saves::if_changed;
        callbacks_.append(id, std::move(save));
    }
}

void CheckpointClient::send(Op op, std::uint64_t number,
                            std::shared_ptr<Writer const> const& record) {
    auto head = manager::head(op, incarnation_.lineage, number);
    head.epoch = incarnation_.number;
    messenger_.together([&] { messenger_.send(supervisor_, head, record->bytes(), record); });
}

OutputCommit::Record CheckpointClient::tell(Op op, ObjectId id, std::span<std::byte const> bytes) {
    auto const number = commit_.sent(id);
    auto const record = record_of({.key = incarnation_.key, .object = id});
    record->write(bytes.data(), bytes.size());
    send(op, number, record);
    return number;
}

OutputCommit::Record CheckpointClient::tell_made(ObjectId id,
                                                 std::span<std::byte const> arguments) {
    auto const& object = objects_.at(id);
    auto const number = commit_.sent_made(id);
    auto const record = record_of(
        {incarnation_.key, id, detail::id_of(*object.constructor).value, object.parallel});
    record->write(arguments.data(), arguments.size());
    send(Op::made, number, record);
    return number;
}

void CheckpointClient::made_here(ObjectId id, std::span<std::byte const> arguments) {
    if (open_) return;
    auto const record = tell_made(id, arguments);
    if (Executor::current() != 0) made_by_this_thread.push_back(record);
}

void CheckpointClient::ended(ObjectId id) {
    if (objects_.erase(id) == 0) return;
    if (commit_.end(id)) send(Op::destroyed, 0, record_of({.key = incarnation_.key, .object = id}));
}

void CheckpointClient::named(ObjectId id, std::string const& name,
                             std::shared_ptr<HeldReplies> const& answer) {
    if (open_) return callbacks_.send(*answer);
    commit_.depend(answer, {tell(Op::named, id, bytes_of(name))});
}

void CheckpointClient::detached(ObjectId id, std::shared_ptr<HeldReplies> const& answer) {
    if (open_) return callbacks_.send(*answer);
    commit_.depend(answer, {tell(Op::detached, id, {})});
}

void CheckpointClient::kept(OutputCommit::Record record) {
    auto const kept = commit_.kept(record);
    for (auto const& held : kept.leave) callbacks_.send(*held);
    if (kept.ended != 0)
        send(Op::destroyed, 0, record_of({.key = incarnation_.key, .object = kept.ended}));
    if (kept.save == 0) return;
    Call save;
    save.saves = Saves::if_changed;
    callbacks_.append(kept.save, std::move(save));
}

void CheckpointClient::not_kept(OutputCommit::Record record, std::string const& why) {
    ErrorRecord error;
    error.type = "sinew::SystemError";
    error.what = text("it was executed, but its effect could not be saved: ", why);
    log_warning(error.what);
    for (auto const& each : commit_.depending(record)) turn_into_failures(*each, error);
    kept(record);
}

void CheckpointClient::remade() { send(Op::remade, 0, record_of({.key = incarnation_.key})); }

void CheckpointClient::open() {
    if (std::exchange(open_, true)) return;
    watch_ = {};
    for (auto const& held : commit_.open()) callbacks_.send(*held);
    objects_.clear();
}

void CheckpointClient::executed(Executed const& executed) {
    auto const held = std::make_shared<HeldReplies>();
    held->answers = executed.answers;
    held->bytes.assign(executed.bytes.bytes().begin(), executed.bytes.bytes().end());
    auto const made = std::exchange(made_by_this_thread, {});
    Lock lock(messenger_.guard());
    auto const found = objects_.find(executed.object);
    if (open_ || found == objects_.end()) return callbacks_.send(*held);
    auto const object = found->second;
    commit_.depend(held, made);
    if (executed.making != nullptr && !object.again)
        tell_made(executed.object, executed.making->arguments.bytes);
    auto const decision = commit_.executed(executed.object, executed.calls, executed.saves, held);
    if (decision.kind == OutputCommit::Decision::Kind::save)
        save(lock, executed, object, decision.record);
    else if (held->missing == 0) callbacks_.send(*held);
}

void CheckpointClient::save(Lock& lock, Executed const& executed, Object const& object,
                            OutputCommit::Record number) {
    auto const record = record_of({.key = incarnation_.key, .object = executed.object});
    std::optional<ErrorRecord> failed;
    lock.unlock();  // save() is user code
    try {
        object.constructor->persistence->save(executed.instance, *record);
    } catch (...) {
        failed = detail::describe(std::current_exception());
        failed->function = text(detail::demangle(object.constructor->name), "::save");
    }
    lock.lock();
    if (open_) return;
    if (auto const still = objects_.find(executed.object); still != objects_.end())
        still->second.saved = Clock::now();
    if (!failed) {
        commit_.saved(executed.object, number, record->size());
        return send(Op::state, number, record);
    }
    log_warning(text("a state could not be saved: ", failed->text()));
    for (auto const& each : commit_.depending(number)) turn_into_failures(*each, *failed);
    kept(number);
}

// Replaces the answers by failures: the calls were executed, but their effect could not be saved.
void CheckpointClient::turn_into_failures(HeldReplies& held, ErrorRecord const& error) {
    Writer bytes;
    error.encode_to(bytes);
    held.bytes.assign(bytes.bytes().begin(), bytes.bytes().end());
    for (auto& answer : held.answers) {
        bool const waited_for = answer.op != Op::done;
        if (waited_for) answer.op = Op::failure;
        answer.begin = 0;
        answer.size = waited_for ? bytes.size() : 0;
    }
}

}  // namespace sinew::manager
