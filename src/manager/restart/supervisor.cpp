// SPDX-License-Identifier: Apache-2.0
#include "src/manager/restart/supervisor.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <sinew/error.hpp>
#include <sinew/manager/reply.hpp>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/task/to_bytes.hpp"

namespace sinew::manager {

using process::Clock;
using process::Lock;

namespace {

// Clients may notice a death before the supervisor does. If the process is still alive after this
// time, clients that asked receive its unchanged address.
constexpr auto doubt = std::chrono::seconds(2);

std::uint64_t random_key() {
    std::uint64_t key = 0;
    auto const secret = wire::Secret::random();
    std::memcpy(&key, secret.bytes().data(), sizeof key);
    return key;
}

}  // namespace

Supervisor::Supervisor(process::Messenger& messenger, std::uint64_t lineage, Options options,
                       std::unique_ptr<SnapshotFolder> folder, Callbacks callbacks)
    : messenger_(messenger), lineage_(lineage), key_(random_key()), options_(std::move(options)),
      callbacks_(std::move(callbacks)), policy_(options_.max_restarts), folder_(std::move(folder)),
      write_timeout_(env_duration("SINEW_TIMEOUT", std::chrono::minutes(5))) {
    if (!folder_) return;
    for (auto& entry : folder_->found()) store_.take_up(std::move(entry));
    writing_.emplace(messenger_.runtime().loop());
}

Incarnation Supervisor::incarnation() const {
    return {messenger_.own_address(), lineage_, policy_.incarnation(), policy_.most_restarts(),
            options_.checkpoints};
}

Incarnation Supervisor::incarnation_to_start() const {
    auto secret = incarnation();
    secret.key = key_;
    return secret;
}

void Supervisor::ready(process::ProcessAddress const& address) {
    if (is_decided()) return;
    address_ = address;
    if (store_.entries().empty()) return now_alive();
    messenger_.on_loop([&] { remake_all(address); });
}

void Supervisor::now_alive() {
    if (is_decided()) return;
    policy_.alive();
    timer_ = {};
    callbacks_.alive({address_, incarnation()});
    tell_those_who_ask(false);
}

void Supervisor::remake_all(process::ProcessAddress const& address) {
    auto const peer = messenger_.find(address);
    for (auto const& [id, entry] : store_.entries()) send_remake(peer, id, entry);
    auto head = manager::head(Op::all, key_, store_.entries().size());
    head.epoch = policy_.incarnation();
    messenger_.send(peer, head);
}

void Supervisor::send_remake(std::shared_ptr<process::Peer> const& peer, ObjectId id,
                             SnapshotStore::Entry const& entry) {
    RemakeHead const first{.object = id,
                           .constructor = entry.constructor,
                           .parallel = entry.parallel,
                           .arguments = entry.arguments->size(),
                           .state = entry.state ? entry.state->size() : 0,
                           .detached = entry.detached,
                           .has_state = entry.state != nullptr};
    auto const message = std::make_shared<Writer>();
    message->write(&first, sizeof first);
    message->write(entry.arguments->data(), entry.arguments->size());
    if (entry.state) message->write(entry.state->data(), entry.state->size());
    encode(*message, std::vector<std::string>(entry.names.begin(), entry.names.end()));
    auto head = manager::head(Op::remake, key_, 0);
    head.epoch = policy_.incarnation();
    messenger_.send(peer, head, message->bytes(), message);
}

bool Supervisor::died(std::string const& how) {
    last_death_ = std::exchange(too_late_, false)
                      ? text("not ready within ",
                             std::chrono::duration<double>(options_.start_timeout).count(),
                             " s, and killed (see ManagerOptions::start_timeout)")
                      : how;
    auto const pause = policy_.died(last_death_);
    if (!pause) {
        timer_ = {};
        tell_those_who_ask(false);
        return false;
    }
    log_warning(text(options_.name, ": ", last_death_, "; it is started again (",
                     policy_.incarnation(), " of ", policy_.most_restarts(), " times)"));
    store_.restart();
    start_after(*pause);
    return true;
}

// Uses the timer even without a pause: the callback that reports the death belongs to the old
// process, which start() destroys.
void Supervisor::start_after(std::chrono::milliseconds pause) {
    timer_ = messenger_.runtime().loop().after(pause,
                                               [this] { messenger_.on_loop([this] { start(); }); });
}

void Supervisor::start() {
    timer_ = {};
    try {
        callbacks_.start();
    } catch (std::exception const& error) {
        died(text("not started (", error.what(), ")"));
        return;
    }
    constexpr std::chrono::nanoseconds longest = std::chrono::hours(24 * 365);
    timer_ = messenger_.runtime().loop().after(std::min(options_.start_timeout, longest), [this] {
        too_late_ = true;
        callbacks_.kill();
    });
}

void Supervisor::end(std::string const& why) {
    timer_ = {};
    writing_.reset();
    policy_.end(why);
    tell_those_who_ask(false);
}

void Supervisor::message(std::shared_ptr<process::Peer> const& peer,
                         process::Message const& message) {
    if (static_cast<Op>(message.head.op) != Op::where) {
        if (message.head.epoch != policy_.incarnation()) return;  // of an earlier incarnation
        if (!record(message) || message.head.number == 0) return;
        auto const head = message.head;
        auto work = to_be_written(message);
        if (!work) return answer(peer, Op::kept, head);
        auto const written = [this, peer, head](std::exception_ptr const& error) {
            messenger_.on_loop([&] {
                try {
                    if (error) std::rethrow_exception(error);
                    answer(peer, Op::kept, head);
                } catch (Timeout const&) {
                    answer(peer, Op::unkept, head,
                           text(folder_->path(), " has not stored it within ",
                                std::chrono::duration<double>(write_timeout_).count(),
                                " s. Does its disk answer? SINEW_TIMEOUT sets the deadline"));
                } catch (std::exception const& problem) {
                    answer(peer, Op::unkept, head, problem.what());
                }
            });
        };
        try {
            writing_->add(std::move(work), written, write_timeout_);
        } catch (SystemError const& problem) {
            answer(peer, Op::unkept, head, problem.what());
        }
        return;
    }
    auto bytes = message.bytes;
    auto const lost = take_value<std::uint64_t>(bytes);
    if (!lost) return;
    Asker asker{peer, message.head.number, static_cast<std::uint32_t>(*lost)};
    if (is_decided() && is_later_than(asker.lost)) return tell(asker);
    askers_.push_back(std::move(asker));
    if (!is_decided()) return;
    doubts_ = messenger_.runtime().loop().after(
        doubt, [this] { messenger_.on_loop([this] { tell_those_who_ask(true); }); });
}

void Supervisor::answer(std::shared_ptr<process::Peer> const& peer, Op op,
                        process::MessageHeader const& record, std::string const& words) {
    if (record.epoch != policy_.incarnation()) return;  // the incarnation has died meanwhile
    auto head = manager::head(op, key_, record.number);
    head.epoch = record.epoch;
    messenger_.send(peer, head, bytes_of(words));
}

// Returns the work that writes a recorded object to the folder; empty if it has no name, or there
// is no folder.
std::function<void()> Supervisor::to_be_written(process::Message const& message) {
    auto const op = static_cast<Op>(message.head.op);
    bool const whole = op == Op::made || op == Op::named;
    if (!writing_ || (!whole && op != Op::state)) return {};
    auto bytes = message.bytes;
    auto const head = take_value<RecordHead>(bytes);
    auto* const entry = store_.find(head->object);
    // An incomplete object is written when its missing records arrive.
    if (entry == nullptr || entry->constructor == 0 || entry->names.empty()) return {};
    if (entry->file == 0) entry->file = folder_->new_number();
    return folder_->writing(*entry, whole);
}

// A published object lives as long as its manager: its destruction means that it could not be made
// again.
void Supervisor::destroyed(ObjectId id) {
    if (auto const* const entry = store_.find(id); entry != nullptr && entry->file != 0)
        log_warning(text(
            options_.name, ": the object published as ", *entry->names.begin(),
            " could not be created again. Its constructor's arguments and its last state stay in ",
            folder_->path(), " until another is published under that name"));
    store_.ended(id);
}

bool Supervisor::record(process::Message const& message) {
    auto bytes = message.bytes;
    auto const head = take_value<RecordHead>(bytes);
    if (!head || head->key != key_) return false;
    auto const copy = [&] { return SnapshotStore::Bytes(bytes.begin(), bytes.end()); };
    switch (static_cast<Op>(message.head.op)) {
        case Op::remade:
            now_alive();
            break;
        case Op::made:
            store_.made(head->object, head->constructor, head->parallel, copy());
            break;
        case Op::state:
            store_.state(head->object, message.head.number, copy());
            break;
        case Op::named:
            store_.named(head->object, std::string(text_of(bytes)));
            break;
        case Op::detached:
            store_.detached(head->object);
            break;
        case Op::destroyed:
            destroyed(head->object);
            break;
        default:
            return false;
    }
    return true;
}

bool Supervisor::is_later_than(std::uint32_t lost) const {
    return policy_.state() == RestartPolicy::State::lost || policy_.incarnation() > lost;
}

void Supervisor::tell(Asker const& asker) {
    if (policy_.state() == RestartPolicy::State::lost)
        return messenger_.send(asker.peer, manager::head(Op::ended, 0, asker.number),
                               bytes_of(std::string_view(lost_text())));
    messenger_.send(asker.peer, manager::head(Op::found, 0, asker.number),
                    to_bytes(ManagerPlace{address_, incarnation()}));
}

void Supervisor::tell_those_who_ask(bool also_of_the_same) {
    if (!is_decided()) return;
    auto const askers = std::exchange(askers_, {});
    messenger_.together([&] {
        for (auto const& each : askers) {
            if (also_of_the_same || is_later_than(each.lost)) tell(each);
            else askers_.push_back(each);
        }
    });
    messenger_.notify_all(changed_);
}

std::string Supervisor::lost_text() const {
    return text(options_.name, " is gone for good (", policy_.end_text(), ")");
}

std::string Supervisor::why_late() const {
    if (is_decided()) return "its supervisor has not yet been told that it is dead";
    return last_death_.empty() ? "it was not ready yet" : "it was " + last_death_;
}

ManagerPlace Supervisor::wait_for_place(Lock& lock, std::optional<std::uint32_t> lost,
                                        process::Clock::time_point deadline) {
    auto const decided = [this] { return is_decided(); };
    auto const later = [&] { return is_decided() && is_later_than(*lost); };
    auto const doubted = Clock::now() + doubt;
    bool in_time = !lost || messenger_.wait(lock, changed_, std::min(deadline, doubted), later) ||
                   deadline > doubted;
    in_time = in_time && messenger_.wait(lock, changed_, deadline, decided);
    if (!in_time)
        throw Timeout(text(options_.name, " has not been started again in time (", why_late(),
                           "). Wait longer: see Object::refresh"));
    if (policy_.state() == RestartPolicy::State::lost) throw ObjectLost(lost_text(), false);
    return {address_, incarnation()};
}

}  // namespace sinew::manager
