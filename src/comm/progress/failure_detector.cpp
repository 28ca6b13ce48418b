// SPDX-License-Identifier: Apache-2.0
#include "src/comm/progress/failure_detector.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include <sinew/error.hpp>

#include "src/base/log.hpp"
#include "src/base/retained.hpp"
#include "src/base/text.hpp"

namespace sinew::detail {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

/// After a peer has died, messages that it sent before may still arrive for this long.
constexpr auto grace_of_the_dead = 200ms;
/// How long investigate() waits for answers.
constexpr auto patience = 1s;

}  // namespace

FailureDetector::FailureDetector(Transport& transport, NodeLayout const& nodes, int tag,
                                 OperationLog const& log)
    : transport_(transport), nodes_(nodes), tag_(tag), log_(log),
      answers_(static_cast<std::size_t>(transport.size())),
      gave_up_before_(static_cast<std::size_t>(transport.size())) {}

FailureDetector::~FailureDetector() {
    for (Sending& sending : sending_) transport_.cancel(sending.ticket);
    for (Receiving& receiving : receiving_) transport_.cancel(receiving.ticket);
    if (!transport_.holds_cancelled_buffers()) return;
    // The medium may still read or write the notices of cancelled transfers.
    retain_value_until_exit(std::move(sending_));
    retain_value_until_exit(std::move(receiving_));
}

RankProgress FailureDetector::progress() const noexcept {
    RankProgress progress;
    progress.inside = log_.inside();
    // Operations that this rank enters meanwhile may replace a record before it is read.
    for (int tries = 0; tries < 100 && progress.last.sequence == 0; ++tries)
        if (auto const record = log_.at(log_.entered())) progress.last = *record;
    return progress;
}

std::string FailureDetector::rank_text(int rank) const {
    return text("rank ", rank, " on ", nodes_.host_of(rank));
}

std::string FailureDetector::self_text() const {
    return text("rank ", transport_.rank(), " of ", transport_.size(), " on ",
                nodes_.host_of(transport_.rank()));
}

// Failures are ignored: a rank that cannot be reached does not answer either and counts as silent.
void FailureDetector::send(int to, Notice const& notice) noexcept try {
    Sending sending{{}, std::make_unique<Notice>(notice)};
    sending_.reserve(sending_.size() + 1);
    sending.ticket =
        transport_.start_send(to, tag_, std::as_bytes(std::span(sending.notice.get(), 1)));
    sending_.push_back(std::move(sending));
} catch (std::exception const&) {}

bool FailureDetector::has_ended(Sending& sending) noexcept try {
    return transport_.test(sending.ticket);
} catch (std::exception const&) {
    return true;
}

void FailureDetector::take_in(int from, Notice const& notice) {
    if (notice.magic != Notice{}.magic) return;
    switch (notice.kind) {
        case Kind::query: {
            Notice reply;
            reply.kind = Kind::reply;
            reply.query = notice.query;
            reply.progress = progress();
            if (auto const record = log_.at(notice.progress.last.sequence))
                reply.progress.at_sequence = *record;
            send(from, reply);
            break;
        }
        case Kind::reply:
            if (notice.query == query_) answers_[static_cast<std::size_t>(from)] = notice.progress;
            break;
        case Kind::gave_up:
            answers_[static_cast<std::size_t>(from)] = notice.progress;
            gave_up_before_[static_cast<std::size_t>(from)] = true;
            if (first_peer_ < 0) {
                first_peer_ = from;
                first_reason_.assign(notice.reason,
                                     ::strnlen(notice.reason, sizeof(notice.reason)));
            }
            break;
    }
}

void FailureDetector::poll() {
    std::unique_lock const lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) poll_locked();
}

// A notice that probe finds may be announced only, or incomplete, and its rest may never arrive.
// Such a notice is not waited for, and does not delay others.
void FailureDetector::receive_locked() {
    while (auto const found = transport_.probe(any_source, tag_)) {
        Receiving receiving{{}, std::make_unique<Notice>(), found->source};
        receiving_.reserve(receiving_.size() + 1);
        receiving.ticket = transport_.start_receive(
            found->source, tag_, std::as_writable_bytes(std::span(receiving.notice.get(), 1)));
        receiving_.push_back(std::move(receiving));
    }
    for (std::size_t i = 0; i < receiving_.size();) {
        Transport::Received received;
        if (!transport_.test(receiving_[i].ticket, &received)) {
            ++i;
            continue;
        }
        Receiving const done = std::move(receiving_[i]);
        receiving_.erase(receiving_.begin() + static_cast<std::ptrdiff_t>(i));
        if (received.bytes == sizeof(Notice)) take_in(done.from, *done.notice);
    }
}

void FailureDetector::poll_locked() {
    std::erase_if(sending_, [&](Sending& sending) { return has_ended(sending); });
    receive_locked();
    lost_ = transport_.lost();
    // A rank that told why it gave up is no cause, and its end no beginning of the grace of others.
    auto const dead = std::find_if(lost_.begin(), lost_.end(), [&](int rank) {
        return !gave_up_before_[static_cast<std::size_t>(rank)];
    });
    first_dead_ = dead == lost_.end() ? -1 : *dead;
    if (first_dead_ < 0) dead_since_.reset();
    else if (!dead_since_) dead_since_ = Clock::now();
}

std::optional<std::string> FailureDetector::trouble() {
    std::unique_lock const lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return std::nullopt;
    if (dead_since_ && Clock::now() - *dead_since_ > grace_of_the_dead)
        return rank_text(first_dead_) + " has died";
    if (first_peer_ >= 0) return text(rank_text(first_peer_), " gave up: ", first_reason_);
    if (gave_up_) return "this rank gave up before: " + own_reason_;
    return std::nullopt;
}

std::string FailureDetector::lateness_of(int rank, RankProgress const& mine) const {
    auto const& answer = answers_[static_cast<std::size_t>(rank)];
    if (!answer || answer->last.sequence >= mine.last.sequence) return {};
    if (answer->last.sequence == 0) return rank_text(rank) + " (no collective yet)";
    return text(rank_text(rank), " (", answer->inside ? "still in " : "its last operation was ",
                name(answer->last.collective), " #", answer->last.sequence, ')');
}

std::string FailureDetector::other_call_of(int rank, RankProgress const& mine) const {
    auto const& answer = answers_[static_cast<std::size_t>(rank)];
    if (!answer) return {};
    if (answer->inside && answer->last.sequence < mine.last.sequence) {
        // This rank has left the call in which that one still is. Was it the same?
        auto const own = log_.at(answer->last.sequence);
        if (!own || own->same_call(answer->last)) return {};
        return text(rank_text(rank), " called ", answer->last.text(), " #", own->sequence,
                    " where this rank called ", own->text());
    }
    if (answer->at_sequence.sequence != mine.last.sequence ||
        answer->at_sequence.same_call(mine.last))
        return {};
    return text(rank_text(rank), " called ", answer->at_sequence.text());
}

FailureDetector::Findings FailureDetector::investigate(bool in_collective, int peer) {
    std::unique_lock const lock(mutex_);
    std::fill(answers_.begin(), answers_.end(), std::nullopt);
    Notice query;
    query.query = ++query_;
    query.progress = progress();
    int const self = transport_.rank(), size = transport_.size();
    for (int r = 0; r < size; ++r)
        if (r != self) send(r, query);
    auto const missing = [&] {
        return std::count(answers_.begin(), answers_.end(), std::nullopt) - 1 -
               static_cast<std::ptrdiff_t>(lost_.size());
    };
    auto const until = Clock::now() + patience;
    do {
        poll_locked();
        std::this_thread::sleep_for(1ms);
    } while (missing() > 0 && Clock::now() < until);

    RankProgress const mine = query.progress;
    Findings findings;
    findings.speaks = true;
    std::string late, other, silent, dead;
    auto const append = [](std::string& list, std::string const& item) {
        if (!item.empty()) list += (list.empty() ? "" : ", ") + item;
    };
    for (int r = 0; r < size; ++r) {
        if (r == self || (!in_collective && r != peer && peer >= 0)) continue;
        auto const& answer = answers_[static_cast<std::size_t>(r)];
        if (in_collective && r < self && answer && answer->last.sequence >= mine.last.sequence)
            findings.speaks = false;
        if (std::find(lost_.begin(), lost_.end(), r) != lost_.end()) append(dead, rank_text(r));
        else if (!answer) append(silent, rank_text(r));
        else if (in_collective) {
            append(late, lateness_of(r, mine));
            append(other, other_call_of(r, mine));
        }
    }
    auto const add = [&](char const* what, std::string const& list) {
        if (!list.empty()) findings.text += (findings.text.empty() ? "" : "; ") + (what + list);
    };
    add("dead: ", dead);
    add("not arrived: ", late);
    add("another call: ", other);
    add("no answer from ", silent);
    findings.calls_differ = !other.empty();
    bool const all_answer = dead.empty() && silent.empty();
    findings.all_came = all_answer && in_collective && late.empty();
    findings.only_late = all_answer && !findings.all_came;
    if (findings.text.empty())
        findings.text =
            in_collective ? "all ranks arrived" : "the other side answers, but sent nothing";
    return findings;
}

void FailureDetector::give_up(std::string const& reason) noexcept try {
    std::unique_lock const lock(mutex_);
    if (gave_up_) return;
    gave_up_ = true;
    own_reason_ = reason;
    Notice notice;
    notice.kind = Kind::gave_up;
    notice.progress = progress();
    reason.copy(notice.reason, sizeof(notice.reason) - 1);
    for (int r = 0; r < transport_.size(); ++r)
        if (r != transport_.rank() && std::find(lost_.begin(), lost_.end(), r) == lost_.end())
            send(r, notice);
    // Send them now, because no further call of this communicator may follow.
    for (int i = 0; i < 20 && !sending_.empty(); ++i) {
        poll_locked();
        if (!sending_.empty()) std::this_thread::sleep_for(1ms);
    }
} catch (std::exception const& error) {
    log_warning(text("could not tell the other ranks of a failure: ", error.what()));
}

}  // namespace sinew::detail
