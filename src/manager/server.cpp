// SPDX-License-Identifier: Apache-2.0
#include "src/manager/server.hpp"

#include <algorithm>
#include <cstring>
#include <sinew/remote_error.hpp>
#include <sinew/task.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/manager/executor.hpp"
#include "src/manager/journal.hpp"

namespace sinew::manager {
namespace {

// Calls may wait for one another, or for what only another call brings: where nothing has moved for
// so long and something waits, there is another thread.
constexpr auto standstill = std::chrono::milliseconds(5);
constexpr std::size_t most_threads_ever = 1024;
// So long, at most, an answer waits for a call that is behind its own.
constexpr auto promptness = std::chrono::microseconds(200);

std::optional<CallHead> take_head(std::span<std::byte const>& bytes) {
    return process::take_value<CallHead>(bytes);
}

}  // namespace

Server::Server(Mail& mail, std::function<void(Letter const&)> answer_here)
    : mail_(mail), answer_here_(std::move(answer_here)) {}

Server::~Server() = default;

Server::Caller& Server::caller(std::shared_ptr<Peer> const& peer) {
    auto& found = callers_[peer.get()];
    if (found.number == 0) {
        found.number = ++clients_;
        found.peer = peer;
        found.guest = peer != nullptr && peer->kinship() == process::Kinship::guest;
        found.refused = found.guest;  // until it has said that it is of the same build
        peers_.emplace(found.number, peer);
    }
    return found;
}

void Server::letter(std::shared_ptr<Peer> const& peer, Letter const& letter) {
    if (is_from_maker(letter.head.op)) {
        if (peer && peer->kinship() == process::Kinship::family) from_maker(letter);
        return wake();
    }
    auto& from = caller(peer);
    if (static_cast<Op>(letter.head.op) == Op::hello) {
        auto const& ours = detail::program_identity().text;
        from.refused = peer != nullptr && text_of(letter.bytes) != ours;
        return;
    }
    if (from.refused || stopping_) return give_up(from, letter);
    serve(from, letter);
    wake();
}

void Server::serve(Caller& from, Letter const& letter) {
    auto const id = letter.head.id;
    auto const number = letter.head.number;
    if (letter.head.epoch == gives_object)
        promises_.expect(from.number, number, static_cast<Op>(letter.head.op) == Op::create);
    switch (static_cast<Op>(letter.head.op)) {
        case Op::follow:
        case Op::follow_oneway:
            return follow(from, letter);
        case Op::forget:
            return promises_.forget(from.number, number);
        case Op::create:
            return create(from, letter);
        case Op::call:
        case Op::oneway:
            return call(from, letter);
        case Op::skip: {
            auto bytes = letter.bytes;
            if (auto const head = take_head(bytes)) core_.skip(id, from.number, head->sequence);
            return;
        }
        case Op::cancel:
            return cancel(from, letter);
        case Op::recall:
            return recall(from, letter);
        case Op::hold:
            core_.hold(id, from.number);
            return;
        case Op::release:
            return core_.release(id, from.number);
        case Op::detach:
            return detach(from, letter);
        case Op::publish:
            return publish(from, letter);
        case Op::checkpoint:
            return checkpoint(from, letter);
        case Op::lookup:
            return lookup(from, letter);
        case Op::meet: {
            Writer address;
            mail_.own_address().encode_to(address);
            return answer(from, Op::value, number, address.bytes());
        }
        default:
            return;
    }
}

// Everything but `hello`, where nothing may be called: those who wait for an answer have one.
void Server::give_up(Caller const& from, Letter const& letter) {
    auto const op = static_cast<Op>(letter.head.op);
    if (op == Op::skip || op == Op::cancel || op == Op::recall || op == Op::hold ||
        op == Op::release || op == Op::forget)
        return;
    if (!from.refused) return answer(from, Op::gone, letter.head.number);
    answer(from, Op::refused, letter.head.number,
           bytes_of(text("the manager runs another program than its caller (there: ",
                         detail::program_identity().text,
                         "). Both must run the same build, linked with the same libraries")));
}

Payload Server::keep(Letter const& letter, std::span<std::byte const> bytes) {
    Payload payload;
    if (letter.keeper) {
        payload.keeper = letter.keeper;
        payload.bytes = bytes;
    } else {
        payload.own.assign(bytes.begin(), bytes.end());
        payload.bytes = payload.own;
    }
    return payload;
}

void Server::create(Caller& from, Letter const& letter) {
    auto bytes = letter.bytes;
    auto const head = take_head(bytes);
    auto const* const maker = head ? detail::find_task({head->method}) : nullptr;
    if (maker == nullptr || maker->make == nullptr)
        return answer(from, Op::refused, letter.head.number,
                      bytes_of("the manager's program does not know how to make this object. "
                               "Link the library that says so into it"));
    auto const parallel = static_cast<unsigned>(std::min<std::uint64_t>(head->sequence, 1024));
    auto const id = core_.add(parallel, maker->name,
                              {.client = from.number,
                               .number = letter.head.number,
                               .method = maker,
                               .makes = true,
                               .oneway = false,
                               .arguments = keep(letter, bytes)});
    if (journal_) journal_->add(id, *maker, parallel, false);
}

void Server::call(Caller& from, Letter const& letter) {
    auto bytes = letter.bytes;
    auto const head = take_head(bytes);
    auto const* const method = head ? detail::find_task({head->method}) : nullptr;
    if (method == nullptr || method->make != nullptr) {
        if (head) core_.skip(letter.head.id, from.number, head->sequence);
        return answer(from, Op::refused, letter.head.number,
                      bytes_of("the manager's program does not know this method. Link the "
                               "library that calls it into it"));
    }
    // The arguments of strangers may be nonsense, but not the kind of object they are for.
    if (from.guest && !core_.is_a(letter.head.id, method->object)) {
        core_.skip(letter.head.id, from.number, head->sequence);
        return answer(from, Op::refused, letter.head.number,
                      bytes_of(text(detail::task_name(*method),
                                    " is no method of the object it was called of")));
    }
    bool const there = core_.arrive(letter.head.id, head->sequence,
                                    {.client = from.number,
                                     .number = letter.head.number,
                                     .method = method,
                                     .makes = false,
                                     .oneway = static_cast<Op>(letter.head.op) == Op::oneway,
                                     .arguments = keep(letter, bytes)});
    if (!there) answer(from, Op::gone, letter.head.number);
}

void Server::lookup(Caller& from, Letter const& letter) {
    auto const found = core_.find(std::string(text_of(letter.bytes)));
    if (!found)
        return answer(from, Op::refused, letter.head.number,
                      bytes_of(text("there is no object published as ", text_of(letter.bytes),
                                    ". Publish one first, or look at the spelling")));
    answer(from, Op::found, letter.head.number, bytes_of(found->type), found->object);
}

void Server::answer(Caller const& to, Op op, std::uint64_t number, std::span<std::byte const> bytes,
                    ObjectId id) {
    auto const head = manager::head(op, id, number);
    if (to.peer) {
        mail_.send(to.peer, head, bytes);
    } else {
        auto here = head;
        here.size = bytes.size();
        answer_here_({here, bytes, nullptr});
    }
    if (!promises_.empty()) settle(to.number, number, op, bytes);
}

void Server::send(std::vector<Answer> const& answers, std::span<std::byte const> bytes) {
    mail_.together([&] {
        for (auto const& each : answers) {
            if (each.later != 0) core_.answered(each.later, each.to, each.number);
            auto const to = peers_.find(each.to);
            if (to == peers_.end()) continue;  // it is gone
            auto const& peer = to->second;
            auto const part = bytes.subspan(each.begin, each.size);
            auto head = manager::head(each.op, 0, each.number);
            head.size = part.size();
            if (!peer) {
                answer_here_({head, part, nullptr});
            } else if (part.size() <= process::small_letter) {
                mail_.send(peer, head, part);
            } else {
                auto const copy =
                    std::make_shared<std::vector<std::byte>>(part.begin(), part.end());
                mail_.send(peer, head, *copy, copy);
            }
            if (!promises_.empty()) settle(each.to, each.number, each.op, part);
        }
    });
}

void Server::postpone(Work const& work, std::size_t index, std::shared_ptr<Postponed> const& call) {
    Lock const held(mail_.guard());
    auto const peer = peers_.find(call->client);
    switch (core_.postpone(work, index, call, peer != peers_.end())) {
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
    auto const held = mail_.lock();
    send(answers, bytes.bytes());
    wake();  // it may have been all that kept an object
}

void Server::lost(std::shared_ptr<Peer> const& peer) {
    auto const found = callers_.find(peer.get());
    if (found == callers_.end()) return;
    core_.lost(found->second.number);
    promises_.lost(found->second.number);
    peers_.erase(found->second.number);
    callers_.erase(found);
    wake();
}

void Server::wake() {
    if (!core_.has_work()) return;
    if (idle_ > 0) mail_.runtime().seat().notify_one(changed_);
    else watch_threads();
}

// There are none at rest: a manager that nobody calls is not to wake up.
void Server::watch_threads() {
    if (threads_watch_ || stopping_) return;
    taken_before_ = taken_;
    threads_watch_ = mail_.runtime().loop().after(standstill, [this] { look_after_threads(); });
}

void Server::look_after_threads() {
    threads_watch_ = {};
    bool const stands = taken_ == taken_before_;
    if (!core_.has_work() || idle_ > 0 || stopping_) return;
    if (threads_.size() < most_threads_ever && (stands || threads_.size() + 1 < most_threads_))
        threads_.emplace_back([this] {
            Lock lock(mail_.guard());
            execute(lock);
        });
    watch_threads();
}

void Server::watch_answers() {
    if (answers_watch_ || stopping_) return;
    answers_watch_ = mail_.runtime().loop().after(promptness, [this] { look_after_answers(); });
}

// Those of short calls do not wait for a long one behind them in the row, nor do other objects.
void Server::look_after_answers() {
    answers_watch_ = {};
    for (auto* const each : busy_) each->send_old();
    mail_.send_collected();
    if (core_.has_work()) wake();
    if (!busy_.empty()) watch_answers();
}

void Server::work() {
    Lock lock(mail_.guard());
    most_threads_ = std::max(1U, std::thread::hardware_concurrency());
    execute(lock);
    threads_watch_ = {};
    answers_watch_ = {};
    auto threads = std::move(threads_);
    lock.unlock();
    for (auto& each : threads) each.join();
    lock.lock();
    auto instances = core_.take_all();
    lock.unlock();
    instances.clear();  // without the guard: their destructors are the user's
}

void Server::execute(Lock& lock) {
    Executor::Keep keep;
    if (journal_) keep = [this](Executed const& executed) { journal_->executed(executed); };
    Executor executor(
        mail_.guard(),
        [this](auto const& answers, Writer const& bytes) { send(answers, bytes.bytes()); },
        std::move(keep));
    while (!stopping_) {
        // Where answers wait for what is kept, nobody but this thread sends them: so not behind calls
        // that take long.
        auto work = core_.take(journal_ && !executor.is_brief() ? 1 : Core::calls_in_a_row);
        if (!work) {
            wait_for_work(lock, executor);
            continue;
        }
        ++taken_;
        bool const several = !journal_ && work->calls != nullptr && work->calls->size() > 1;
        if (several) busy_.push_back(&executor);
        if (several || core_.has_work()) watch_answers();
        lock.unlock();
        if (work->calls == nullptr) {
            auto const id = work->object;
            work.reset();  // its destructor may take long
            lock.lock();
            if (journal_) journal_->ended(id);
            continue;
        }
        auto instance = executor.run(*work);
        lock.lock();
        if (several) std::erase(busy_, &executor);
        if (!journal_) executor.send_collected();
        bool const making = (*work->calls)[0].makes;
        if (making && journal_) {
            if (!instance) journal_->ended(work->object);
            if ((*work->calls)[0].client == 0) remade_one();
        }
        for (auto const& unmade : core_.finished(*work, std::move(instance))) tell_gone(unmade);
    }
}

// Where calls are short, the thread drives the loop meanwhile: what arrives is executed at once, and
// for as long as that takes nobody else needs to drive.
void Server::wait_for_work(Lock& lock, Executor const& executor) {
    std::function<bool()> const there_is = [this] { return stopping_ || core_.has_work(); };
    auto& seat = mail_.runtime().seat();
    ++idle_;
    if (executor.is_brief()) {
        seat.wait(lock, changed_, process::never, there_is, process::Seat::Turn::some_time);
    } else {
        process::Seat::Bystander const stands_by(seat);
        changed_.wait(lock, there_is);
    }
    --idle_;
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
    if (journal_) {
        for (auto const& [client, peer] : peers_)
            if (peer) answer({client, peer}, Op::farewell, 0);
        journal_->open();
    }
    for (auto const& each : core_.drop_all()) tell_gone(each);
    mail_.runtime().seat().notify_all(changed_);
}

}  // namespace sinew::manager
