// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "src/base/text.hpp"
#include "src/manager/restart/restart_policy.hpp"
#include "src/manager/restart/snapshot_store.hpp"
#include "src/manager/server/output_commit.hpp"

namespace sinew::manager {

/// The state of an object: the calls that were executed.
using History = std::set<std::uint64_t>;

inline SnapshotStore::Bytes bytes_of_history(History const& history) {
    SnapshotStore::Bytes bytes;
    for (auto const number : history)
        for (int shift = 0; shift < 32; shift += 8)
            bytes.push_back(static_cast<std::byte>(number >> shift));
    return bytes;
}

inline History history_of(SnapshotStore::Bytes const& bytes) {
    History history;
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        std::uint64_t number = 0;
        for (std::size_t k = 0; k < 4; ++k)
            number |= std::uint64_t{std::to_integer<std::uint8_t>(bytes[i + k])} << (8 * k);
        history.insert(number);
    }
    return history;
}

inline constexpr Client clients = 3;

class World {
public:
    explicit World(std::uint64_t seed)
        : random_(seed), every_(below(3) == 0 ? 1 + below(5) : 1),
          policy_(static_cast<std::uint32_t>(below(30))) {
        policy_.alive();
    }

    void chaos(int steps) {
        for (int i = 0; i < steps; ++i) step();
    }
    /// No more deaths and no new calls: all calls must end.
    void calm() {
        if (policy_.state() == RestartPolicy::State::starting) restart();
        if (policy_.state() == RestartPolicy::State::alive) {
            while (arrive() || begin() || go_on() || record_arrives() || acknowledged()) continue;
            for (auto const& [number, call] : calls_)
                expect(call.answered || call.lost || call.incarnation != policy_.incarnation(),
                       text("call ", number, " is never answered"));
        }
    }

private:
    struct Known {
        ObjectId object = 0;
        std::uint32_t incarnation = 0;
        bool executed = false, answered = false, lost = false, sent = true, makes = false;
    };
    struct Record {
        Op op = Op::made;
        ObjectId object = 0;
        OutputCommit::Record number = 0;
        SnapshotStore::Bytes bytes;
        std::uint32_t incarnation = 0;
    };
    /// A thread of the manager that executes calls of an object.
    struct Running {
        Work work;
        std::size_t at = 0;
        std::uint64_t calls = 0;
        Saves saves = Saves::no;
        Call const* making = nullptr;
        std::shared_ptr<HeldReplies> held = std::make_shared<HeldReplies>();
        OutputCommit::Record saving = 0;
    };
    struct Message {
        ObjectId object;
        std::uint64_t sequence;
        Call call;
    };
    /// Everything that dies with the process.
    struct Process {
        Dispatcher dispatcher;
        OutputCommit escrow;
        std::map<ObjectId, History> objects;
        std::set<ObjectId> again;
        std::vector<Running> running;
        std::map<std::pair<Client, ObjectId>, std::uint64_t> rows;
        std::vector<Message> messages;
        std::vector<OutputCommit::Record> acknowledgements;
    };

    static void expect(bool holds, std::string const& words) {
        if (!holds) throw std::logic_error(words);
    }
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    bool once_in(std::uint64_t times) { return below(times) == 0; }
    template <class Many>
    auto any_of(Many& many) {
        return std::next(many.begin(), static_cast<std::ptrdiff_t>(below(many.size())));
    }

    void step() {
        if (policy_.state() == RestartPolicy::State::lost) return lost_for_good();
        if (policy_.state() == RestartPolicy::State::starting) return restart();
        switch (below(14)) {
            case 0:
                return make();
            case 1:
            case 2:
            case 3:
                return call();
            case 4:
            case 5:
                return static_cast<void>(arrive());
            case 6:
            case 7:
                return static_cast<void>(begin());
            case 8:
            case 9:
            case 10:
                return static_cast<void>(go_on());
            case 11:
                return static_cast<void>(record_arrives());
            case 12:
                return static_cast<void>(acknowledged());
            default:
                return once_in(25) ? die() : ask_for_state();
        }
    }

    // --- clients
    Call new_call(ObjectId object, bool makes) {
        Call made;
        made.client = 1 + below(clients);
        made.number = ++numbers_;
        made.makes = makes;
        calls_[numbers_] = {object, policy_.incarnation(), false, false, false, true, makes};
        return made;
    }
    void make() {
        if (process_->objects.size() + process_->dispatcher.objects() > 8) return;
        auto call = new_call(0, true);
        auto const number = call.number;
        auto const id =
            process_->dispatcher.add(1 + static_cast<unsigned>(below(2)), "type", std::move(call));
        calls_[number].object = id;
        process_->escrow.add(id, true, every_);
    }
    void call() {
        if (process_->objects.empty()) return;
        auto const id = any_of(process_->objects)->first;
        auto call = new_call(id, false);
        auto const sequence = ++process_->rows[{call.client, id}];
        process_->messages.push_back({id, sequence, std::move(call)});
    }
    bool arrive() {
        if (process_->messages.empty()) return false;
        auto const at =
            process_->messages.begin() +
            static_cast<std::ptrdiff_t>(below(std::min<std::size_t>(3, process_->messages.size())));
        auto message = std::move(*at);
        process_->messages.erase(at);
        expect(
            process_->dispatcher.arrive(message.object, message.sequence, std::move(message.call)),
            "an object is gone");
        return true;
    }
    void ask_for_state() {
        if (process_->objects.empty()) return;
        Call save;
        save.saves = once_in(2) ? Saves::if_changed : Saves::yes;
        process_->dispatcher.append(any_of(process_->objects)->first, std::move(save));
    }

    // --- threads of the manager
    bool begin() {
        auto work = process_->dispatcher.take();
        if (!work) return false;
        expect(work->calls != nullptr, "an object is destroyed though it is held");
        Running running;
        running.work = *work;
        process_->running.push_back(std::move(running));
        return true;
    }
    bool go_on() {
        if (process_->running.empty()) return false;
        auto const at = any_of(process_->running);
        auto& running = *at;
        if (running.saving != 0) {
            save(running);
        } else if (running.at < running.work.calls->size()) {
            execute(running);
            if (once_in(3)) flush(running);
        } else if (!running.held->answers.empty()) {
            flush(running);
        } else {
            auto const work = running.work;
            process_->running.erase(at);
            process_->dispatcher.finished(work, std::make_shared<int>(0));
        }
        return true;
    }
    void execute(Running& running) {
        auto const& call = (*running.work.calls)[running.at];
        expect(running.work.calls->claim(running.at++), "somebody has dropped a call");
        auto const id = running.work.object;
        running.held->answers.push_back({call.client, Op::value, call.number});
        if (call.saves != Saves::no) {
            running.saves = std::max(running.saves, call.saves);
            return;
        }
        if (call.makes) {
            process_->objects[id] = call.state ? history_of(*call.state) : History();
            running.making = &call;
        } else {
            ++running.calls;
            process_->objects.at(id).insert(call.number);
        }
        if (call.number == 0) return;
        auto& known = calls_.at(call.number);
        expect(!known.executed, text("call ", call.number, " is executed twice"));
        known.executed = true;
    }
    // Like CheckpointClient::executed.
    void flush(Running& running) {
        auto const id = running.work.object;
        auto const held = std::exchange(running.held, std::make_shared<HeldReplies>());
        auto& escrow = process_->escrow;
        if (running.making != nullptr && process_->again.count(id) == 0) {
            records_.push_back({Op::made, id, escrow.sent_made(id), {}, policy_.incarnation()});
        }
        auto const decision = escrow.executed(id, running.calls, running.saves, held);
        running.making = nullptr;
        running.calls = 0;
        running.saves = Saves::no;
        if (decision.kind == OutputCommit::Decision::Kind::save) running.saving = decision.record;
        else if (held->missing == 0) leave(*held);
    }
    void save(Running& running) {
        auto const id = running.work.object;
        auto const record = std::exchange(running.saving, 0);
        // Sometimes as if the state were large.
        process_->escrow.saved(id, record, once_in(3) ? std::size_t{1} << 20 : 100);
        records_.push_back({Op::state, id, record, bytes_of_history(process_->objects.at(id)),
                            policy_.incarnation()});
    }
    void leave(HeldReplies const& held) {
        for (auto const& answer : held.answers) {
            if (answer.number == 0) continue;
            auto& known = calls_.at(answer.number);
            expect(known.executed && !known.answered, text("call ", answer.number, " is answered"));
            known.answered = true;
        }
    }

    // --- the supervisor
    bool record_arrives() {
        if (records_.empty()) return false;
        auto const at = any_of(records_);
        auto const record = std::move(*at);
        records_.erase(at);
        if (record.incarnation != policy_.incarnation()) return true;
        keep(record);
        process_->acknowledgements.push_back(record.number);
        return true;
    }
    void keep(Record const& record) {
        if (record.op == Op::made) store_.made(record.object, 1, 1, {});
        else store_.state(record.object, record.number, record.bytes);
    }
    bool acknowledged() {
        auto& waiting = process_->acknowledgements;
        if (waiting.empty()) return false;
        auto const at = any_of(waiting);
        auto const record = *at;
        waiting.erase(at);
        auto const kept = process_->escrow.kept(record);
        for (auto const& held : kept.leave) {
            expect(held->missing == 0, "an answer leaves though it waits");
            leave(*held);
        }
        if (kept.save != 0) {
            Call save;
            save.saves = Saves::if_changed;
            process_->dispatcher.append(kept.save, std::move(save));
        }
        return true;
    }
    void die() {
        // Some of the records in transit have arrived.
        while (!records_.empty() && !once_in(3)) {
            auto const at = any_of(records_);
            if (at->incarnation == policy_.incarnation()) keep(*at);
            records_.erase(at);
        }
        for (auto& [number, known] : calls_)
            if (!known.answered) known.lost = true;  // and maybe executed
        for (auto const& message : process_->messages)
            expect(!calls_.at(message.call.number).executed, "executed before it arrived");
        process_ = std::make_unique<Process>();
        auto const before = policy_.incarnation();
        if (!policy_.died("killed")) return;
        expect(policy_.incarnation() == before + 1, "an incarnation is left out");
        store_.restart();
        check_what_is_kept();
    }
    void check_what_is_kept() {
        std::map<ObjectId, std::uint64_t> missing;
        for (auto const& [number, known] : calls_) {
            if (!known.answered) continue;
            auto const entry = store_.entries().find(known.object);
            expect(entry != store_.entries().end(), text("object ", known.object, " is lost"));
            if (known.makes || forgotten_.count(number) > 0) continue;
            auto const& state = entry->second.state;
            if (state && history_of(*state).count(number) > 0) continue;
            ++missing[known.object];
            forgotten_.insert(number);
        }
        for (auto const& [object, count] : missing)
            expect(count < every_, text(count, " answered calls of object ", object, " are lost"));
        for (auto const& [object, entry] : store_.entries())
            if (entry.state)
                for (auto const number : history_of(*entry.state))
                    expect(calls_.at(number).executed && calls_.at(number).object == object,
                           "a state tells of what never was");
    }
    void restart() {
        if (once_in(4)) {  // it dies before it can be called
            if (policy_.died("killed at its start")) store_.restart();
            return;
        }
        for (auto const& [id, entry] : store_.entries()) {
            Call making;
            making.makes = true;
            making.state = entry.state;
            expect(process_->dispatcher.add(1 + static_cast<unsigned>(below(2)), "type",
                                            std::move(making), id) == id,
                   "an object is made again under another id");
            process_->escrow.add(id, true, every_);
            process_->again.insert(id);
        }
        while (begin() || go_on()) continue;
        policy_.alive();
    }
    void lost_for_good() {
        expect(policy_.end_text().find("restart") != std::string::npos, "it is not said how often");
    }

    std::mt19937_64 random_;
    std::uint64_t const every_;
    RestartPolicy policy_;
    SnapshotStore store_;
    std::unique_ptr<Process> process_ = std::make_unique<Process>();
    std::vector<Record> records_;
    std::map<std::uint64_t, Known> calls_;
    std::set<std::uint64_t> forgotten_;  ///< by an earlier death
    std::uint64_t numbers_ = 0;
};

}  // namespace sinew::manager
