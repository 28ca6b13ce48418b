// SPDX-License-Identifier: Apache-2.0
#include "src/manager/executor.hpp"

#include <algorithm>
#include <exception>
#include <sinew/encoding.hpp>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::manager {
namespace {

// So much is collected, for so long.
constexpr std::size_t full = std::size_t{64} << 10;
constexpr auto moment = std::chrono::microseconds(100);

thread_local ObjectId current_object = 0;

}  // namespace

ObjectId Executor::current() { return current_object; }

std::shared_ptr<void> Executor::run(Work const& work) {
    auto instance = work.instance;
    current_object = work.object;
    auto const began = ended_ = Clock::now();
    for (std::size_t i = 0; i < work.calls->size(); ++i) {
        if (!work.calls->claim(i)) continue;
        auto const& call = (*work.calls)[i];
        bool const due = call.makes ? make(call, instance) : execute(instance.get(), call);
        if (!due || i + 1 == work.calls->size()) continue;
        std::lock_guard const held(guard_);
        send_collected();
    }
    current_object = 0;
    measure(ended_ - began, work.calls->size());
    return instance;
}

// One that took long is not yet a habit.
void Executor::measure(Clock::duration time, std::size_t calls) {
    constexpr Clock::duration most = std::chrono::microseconds(200);
    mean_ = (7 * mean_ + std::min(time / static_cast<int>(calls), most)) / 8;
}

bool Executor::make(Call const& call, std::shared_ptr<void>& instance) {
    try {
        Reader reader(call.arguments.bytes);
        instance = call.method->make(reader);
        encode(result_, current_object);
        return add(call, Op::value);
    } catch (...) {
        return note_failure(call);
    }
}

bool Executor::execute(void* instance, Call const& call) {
    try {
        Reader reader(call.arguments.bytes);
        call.method->run(instance, reader, result_);
        if (call.oneway) result_.clear();
        return add(call, call.oneway ? Op::done : Op::value);
    } catch (...) {
        return note_failure(call);
    }
}

// Within a handler.
bool Executor::note_failure(Call const& call) {
    result_.clear();
    auto record = detail::describe(std::current_exception());
    record.function = detail::task_name(*call.method);
    if (call.oneway) log_warning(text("a one-way call failed: ", record.text()));
    else record.encode_to(result_);
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

void Executor::send_collected() {
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
    send_collected();
}

}  // namespace sinew::manager
