// SPDX-License-Identifier: Apache-2.0
#include "src/manager/maker.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <sinew/encoding.hpp>
#include <sinew/error.hpp>
#include <sinew/reply.hpp>
#include <utility>

#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::manager {

using process::Clock;
using process::Lock;

namespace {

// Others may know of a death sooner than the maker. Who has lost sight of one that is not dead after
// all is told where it was.
constexpr auto doubt = std::chrono::seconds(2);

std::uint64_t random_key() {
    std::uint64_t key = 0;
    auto const secret = wire::Secret::random();
    std::memcpy(&key, secret.bytes().data(), sizeof key);
    return key;
}

}  // namespace

void Place::encode_to(Writer& writer) const {
    address.encode_to(writer);
    line.encode_to(writer);
}

Place Place::decode_from(Reader& reader) {
    auto address = process::ProcessAddress::decode_from(reader);
    return {std::move(address), Line::decode_from(reader)};
}

Maker::Maker(process::Mail& mail, std::uint64_t lineage, Options options,
             std::unique_ptr<LedgerFolder> folder, Hands hands)
    : mail_(mail), lineage_(lineage), key_(random_key()), options_(std::move(options)),
      hands_(std::move(hands)), lives_(options_.max_restarts), folder_(std::move(folder)),
      write_timeout_(env_duration("SINEW_TIMEOUT", std::chrono::minutes(5))) {
    if (!folder_) return;
    for (auto& entry : folder_->found()) ledger_.take_up(std::move(entry));
    writing_.emplace(mail_.runtime().loop());
}

Line Maker::line() const {
    return {mail_.own_address(), lineage_, lives_.incarnation(), lives_.most_restarts(),
            options_.checkpoints};
}

Line Maker::line_to_start() const {
    auto secret = line();
    secret.key = key_;
    return secret;
}

void Maker::ready(process::ProcessAddress const& address) {
    if (is_decided()) return;
    address_ = address;
    if (ledger_.entries().empty()) return now_alive();
    mail_.on_loop([&] { remake_all(address); });
}

void Maker::now_alive() {
    if (is_decided()) return;
    lives_.alive();
    timer_ = {};
    hands_.alive({address_, line()});
    tell_those_who_ask(false);
}

void Maker::remake_all(process::ProcessAddress const& address) {
    auto const peer = mail_.find(address);
    for (auto const& [id, entry] : ledger_.entries()) send_remake(peer, id, entry);
    auto head = manager::head(Op::all, key_, ledger_.entries().size());
    head.epoch = lives_.incarnation();
    mail_.send(peer, head);
}

void Maker::send_remake(std::shared_ptr<process::Peer> const& peer, ObjectId id,
                        Ledger::Entry const& entry) {
    RemakeHead const first{.object = id,
                           .maker = entry.maker,
                           .parallel = entry.parallel,
                           .arguments = entry.arguments->size(),
                           .state = entry.state ? entry.state->size() : 0,
                           .detached = entry.detached,
                           .has_state = entry.state != nullptr};
    auto const letter = std::make_shared<Writer>();
    letter->write(&first, sizeof first);
    letter->write(entry.arguments->data(), entry.arguments->size());
    if (entry.state) letter->write(entry.state->data(), entry.state->size());
    encode(*letter, std::vector<std::string>(entry.names.begin(), entry.names.end()));
    auto head = manager::head(Op::remake, key_, 0);
    head.epoch = lives_.incarnation();
    mail_.send(peer, head, letter->bytes(), letter);
}

bool Maker::died(std::string const& how) {
    last_death_ = std::exchange(too_late_, false)
                      ? text("not ready within ",
                             std::chrono::duration<double>(options_.start_timeout).count(),
                             " s, and killed (see ManagerOptions::start_timeout)")
                      : how;
    auto const pause = lives_.died(last_death_);
    if (!pause) {
        timer_ = {};
        tell_those_who_ask(false);
        return false;
    }
    log_warning(text(options_.name, ": ", last_death_, "; it is started anew (",
                     lives_.incarnation(), " of ", lives_.most_restarts(), " times)"));
    ledger_.begin_anew();
    start_after(*pause);
    return true;
}

// Also without a pause not at once: the callback that tells of the death is the old process's.
void Maker::start_after(std::chrono::milliseconds pause) {
    timer_ = mail_.runtime().loop().after(pause, [this] { mail_.on_loop([this] { start(); }); });
}

void Maker::start() {
    timer_ = {};
    try {
        hands_.start();
    } catch (std::exception const& error) {
        died(text("not to be started (", error.what(), ")"));
        return;
    }
    constexpr std::chrono::nanoseconds longest = std::chrono::hours(24 * 365);
    timer_ = mail_.runtime().loop().after(std::min(options_.start_timeout, longest), [this] {
        too_late_ = true;
        hands_.kill();
    });
}

void Maker::end(std::string const& why) {
    timer_ = {};
    writing_.reset();
    lives_.end(why);
    tell_those_who_ask(false);
}

void Maker::letter(std::shared_ptr<process::Peer> const& peer, process::Letter const& letter) {
    if (static_cast<Op>(letter.head.op) != Op::where) {
        if (letter.head.epoch != lives_.incarnation()) return;  // of one that is dead
        if (!record(letter) || letter.head.number == 0) return;
        auto const head = letter.head;
        auto work = to_be_written(letter);
        if (!work) return answer(peer, Op::kept, head);
        auto const written = [this, peer, head](std::exception_ptr const& error) {
            mail_.on_loop([&] {
                try {
                    if (error) std::rethrow_exception(error);
                    answer(peer, Op::kept, head);
                } catch (Timeout const&) {
                    answer(peer, Op::unkept, head,
                           text(folder_->path(), " has not taken it within ",
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
    auto bytes = letter.bytes;
    auto const lost = process::take_value<std::uint64_t>(bytes);
    if (!lost) return;
    Asker asker{peer, letter.head.number, static_cast<std::uint32_t>(*lost)};
    if (is_decided() && is_later_than(asker.lost)) return tell(asker);
    askers_.push_back(std::move(asker));
    if (!is_decided()) return;
    doubts_ = mail_.runtime().loop().after(
        doubt, [this] { mail_.on_loop([this] { tell_those_who_ask(true); }); });
}

void Maker::answer(std::shared_ptr<process::Peer> const& peer, Op op,
                   process::LetterHead const& record, std::string const& words) {
    if (record.epoch != lives_.incarnation()) return;  // it is dead meanwhile
    auto head = manager::head(op, key_, record.number);
    head.epoch = record.epoch;
    mail_.send(peer, head, bytes_of(words));
}

// What has a name, and is recorded already. Empty: nothing.
std::function<void()> Maker::to_be_written(process::Letter const& letter) {
    auto const op = static_cast<Op>(letter.head.op);
    bool const whole = op == Op::made || op == Op::named;
    if (!writing_ || (!whole && op != Op::state)) return {};
    auto bytes = letter.bytes;
    auto const head = process::take_value<RecordHead>(bytes);
    auto* const entry = ledger_.find(head->object);
    // With what is missing yet comes the rest.
    if (entry == nullptr || entry->maker == 0 || entry->names.empty()) return {};
    if (entry->file == 0) entry->file = folder_->new_number();
    return folder_->writing(*entry, whole);
}

// One with a name lives as long as its manager, unless it could not be made again.
void Maker::destroyed(ObjectId id) {
    if (auto const* const entry = ledger_.find(id); entry != nullptr && entry->file != 0)
        log_warning(
            text(options_.name, ": the object published as ", *entry->names.begin(),
                 " could not be made again. What it was made of, and its last state, stay in ",
                 folder_->path(), " until another is published under that name"));
    ledger_.ended(id);
}

bool Maker::record(process::Letter const& letter) {
    auto bytes = letter.bytes;
    auto const head = process::take_value<RecordHead>(bytes);
    if (!head || head->key != key_) return false;
    auto const copy = [&] { return Ledger::Bytes(bytes.begin(), bytes.end()); };
    switch (static_cast<Op>(letter.head.op)) {
        case Op::remade:
            now_alive();
            break;
        case Op::made:
            ledger_.made(head->object, head->maker, head->parallel, copy());
            break;
        case Op::state:
            ledger_.state(head->object, letter.head.number, copy());
            break;
        case Op::named:
            ledger_.named(head->object, std::string(text_of(bytes)));
            break;
        case Op::detached:
            ledger_.detached(head->object);
            break;
        case Op::destroyed:
            destroyed(head->object);
            break;
        default:
            return false;
    }
    return true;
}

bool Maker::is_later_than(std::uint32_t lost) const {
    return lives_.state() == Lives::State::lost || lives_.incarnation() > lost;
}

void Maker::tell(Asker const& asker) {
    if (lives_.state() == Lives::State::lost)
        return mail_.send(asker.peer, manager::head(Op::ended, 0, asker.number),
                          bytes_of(std::string_view(lost_text())));
    Writer place;
    Place{address_, line()}.encode_to(place);
    mail_.send(asker.peer, manager::head(Op::found, 0, asker.number), place.bytes());
}

void Maker::tell_those_who_ask(bool also_of_the_same) {
    if (!is_decided()) return;
    auto const askers = std::exchange(askers_, {});
    mail_.together([&] {
        for (auto const& each : askers) {
            if (also_of_the_same || is_later_than(each.lost)) tell(each);
            else askers_.push_back(each);
        }
    });
    mail_.notify_all(changed_);
}

std::string Maker::lost_text() const {
    return text(options_.name, " is gone for good (", lives_.end_text(), ")");
}

std::string Maker::why_late() const {
    if (is_decided()) return "its maker has not heard yet that it is dead";
    return last_death_.empty() ? "it was not ready yet" : "it was " + last_death_;
}

Place Maker::wait_for_place(Lock& lock, std::optional<std::uint32_t> lost,
                            process::Clock::time_point deadline) {
    auto const decided = [this] { return is_decided(); };
    auto const later = [&] { return is_decided() && is_later_than(*lost); };
    auto const doubted = Clock::now() + doubt;
    bool in_time = !lost || mail_.wait(lock, changed_, std::min(deadline, doubted), later) ||
                   deadline > doubted;
    in_time = in_time && mail_.wait(lock, changed_, deadline, decided);
    if (!in_time)
        throw Timeout(text(options_.name, " has not been started anew in time (", why_late(),
                           "). Wait longer: see Object::refresh"));
    if (lives_.state() == Lives::State::lost) throw ObjectLost(lost_text(), false);
    return {address_, line()};
}

}  // namespace sinew::manager
