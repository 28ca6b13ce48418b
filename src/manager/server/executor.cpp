// SPDX-License-Identifier: Apache-2.0
#include "src/manager/server/executor.hpp"

#include <algorithm>
#include <exception>
#include <sinew/manager/deferred.hpp>
#include <sinew/remote_error.hpp>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/base/waiting/wake_up.hpp"
#include "src/manager/server/deferred_reply.hpp"

namespace sinew::manager {
namespace {

// Collected answers are sent at this size (bytes) or age.
constexpr std::size_t full = std::size_t{64} << 10;
constexpr auto moment = std::chrono::microseconds(100);

// For calls shorter than this, no other thread is woken: a wake-up would take as long as the call.
// The lower limits are a wake-up and a context switch on machines with fast wake-ups.
constexpr int brief_in_wake_ups = 2, short_in_wake_ups = 6;
constexpr auto least_brief = std::chrono::microseconds(30);
constexpr auto least_short = std::chrono::microseconds(150);

thread_local ObjectId current_object = 0;

}  // namespace

Executor::Executor(std::mutex& guard, Send send, Keep keep)
    : guard_(guard), send_(std::move(send)), keep_(std::move(keep)),
      most_brief_(std::max<Clock::duration>(least_brief, brief_in_wake_ups * wake_up().cost)),
      most_short_(std::max<Clock::duration>(least_short, short_in_wake_ups * wake_up().cost)) {}

ObjectId Executor::current() { return current_object; }

std::shared_ptr<void> Executor::run(Work const& work) {
    auto instance = work.instance;
    current_object = work.object;
    auto const began = ended_ = Clock::now();
    for (std::size_t i = 0; i < work.calls->size(); ++i) {
        if (!work.calls->claim(i)) continue;
        auto const& call = (*work.calls)[i];
        CallContext const running(*this, work, i);
        bool due = false;
        if (call.makes) due = make(call, instance);
        else if (call.notice != ObjectEvent::none) due = notify(instance, call);
        else due = execute(instance.get(), call);
        if (!due || i + 1 == work.calls->size()) continue;
        if (keep_) {
            keep(work, instance.get());
        } else {
            std::lock_guard const held(guard_);
            flush_batches();
        }
    }
    if (keep_) keep(work, instance.get());
    current_object = 0;
    measure(ended_ - began, work.calls->size());
    return instance;
}

// Updates the moving average. Durations are capped, so that a single long call counts little.
void Executor::measure(Clock::duration time, std::size_t calls) {
    mean_ = (7 * mean_ + std::min(time / static_cast<int>(calls), 4 * most_short_ / 3)) / 8;
}

bool Executor::make(Call const& call, std::shared_ptr<void>& instance) {
    try {
        Reader reader(call.arguments.bytes);
        auto made = call.method->make(reader);
        if (call.state) {
            Reader state(*call.state);
            call.method->persistence->restore(made.get(), state);
        }
        instance = std::move(made);
        making_ = &call;
        encode(result_, current_object);
        return add(call, Op::value);
    } catch (...) {
        return note_failure(call);
    }
}

bool Executor::execute(void* instance, Call const& call) {
    if (call.saves != Saves::no) {
        saves_ = std::max(saves_, call.saves);
        return add(call, Op::value);
    }
    ++calls_;
    try {
        Reader reader(call.arguments.bytes);
        call.method->run(instance, reader, result_);
        bool const answers = CallContext::current()->answers();
        if (call.oneway || !answers) result_.clear();
        return answers ? add(call, call.oneway ? Op::done : Op::value) : is_due();
    } catch (...) {
        if (CallContext::current()->answers()) return note_failure(call);
        result_.clear();
        return is_due();
    }
}

bool Executor::notify(std::shared_ptr<void> const& instance, Call const& call) {
    auto const* const observer = std::get_deleter<detail::CallerObserver>(instance);
    if (observer == nullptr) return false;
    try {
        if (call.notice == ObjectEvent::lost && observer->lost != nullptr)
            observer->lost(instance.get(), {call.client});
        // The calls of a lost process count as withdrawn, too.
        if (observer->withdrawn != nullptr) observer->withdrawn(instance.get());
    } catch (...) {
        auto const record = detail::describe(std::current_exception());
        log_warning(
            text("an object threw when it was told that a caller had ended: ", record.text()));
    }
    return is_due();
}

// Requires: called within a catch block.
bool Executor::note_failure(Call const& call) {
    result_.clear();
    auto record = detail::describe(std::current_exception());
    record.function = detail::task_name(*call.method);
    if (call.oneway) log_warning(text("a one-way call failed: ", record.text()));
    else if (call.client == 0)
        log_warning(text("an object cannot be created again: ", record.text()));
    if (!call.oneway) record.encode_to(result_);
    return add(call, call.oneway ? Op::done : Op::failure);
}

bool Executor::add(Call const& call, Op op) {
    ended_ = Clock::now();
    std::lock_guard const lock(mutex_);
    if (answers_.empty()) since_ = ended_;
    answers_.push_back({call.client, op, call.number, bytes_.size(), result_.size()});
    if (bytes_.size() == 0) std::swap(bytes_, result_);
    else bytes_.write(result_.bytes().data(), result_.size());
    result_.clear();
    return bytes_.size() >= full || ended_ - since_ > moment;
}

void Executor::add_later(Answer answer, Writer const& bytes) {
    std::lock_guard const lock(mutex_);
    if (answers_.empty()) since_ = Clock::now();
    answer.begin = bytes_.size();
    answers_.push_back(answer);
    bytes_.write(bytes.bytes().data(), bytes.size());
}

bool Executor::is_due() {
    ended_ = Clock::now();
    std::lock_guard const lock(mutex_);
    return !answers_.empty() && (bytes_.size() >= full || ended_ - since_ > moment);
}

// No other thread sends these answers: the state may have to be saved first, in this thread.
void Executor::keep(Work const& work, void* instance) {
    // Deferred calls have no answer yet, but may have changed the object.
    if (!answers_.empty() || calls_ > 0)
        keep_({work.object, instance, making_, calls_, saves_, answers_, bytes_});
    answers_.clear();
    bytes_.clear();
    making_ = nullptr;
    calls_ = 0;
    saves_ = Saves::no;
}

void Executor::flush_batches() {
    {
        std::lock_guard const lock(mutex_);
        leaving_.swap(answers_);
        std::swap(leaving_bytes_, bytes_);
    }
    if (!leaving_.empty()) send_(leaving_, leaving_bytes_);
    leaving_.clear();
    leaving_bytes_.clear();
}

void Executor::send_old() {
    {
        std::lock_guard const lock(mutex_);
        if (answers_.empty() || Clock::now() - since_ < moment) return;
    }
    flush_batches();
}

}  // namespace sinew::manager
