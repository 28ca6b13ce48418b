// SPDX-License-Identifier: Apache-2.0
#include "src/manager/executor.hpp"

#include <algorithm>
#include <exception>
#include <sinew/deferred.hpp>
#include <sinew/encoding.hpp>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/manager/owed_call.hpp"

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
    since_ = Clock::now();
    for (std::size_t i = 0; i < work.calls->size(); ++i) {
        if (!work.calls->claim(i)) continue;
        auto const& call = (*work.calls)[i];
        RunningCall const running(work, i);
        if (call.makes) instance = make(call);
        else if (call.notice != Notice::none) notify(instance, call);
        else execute(instance.get(), call);
        if (bytes_.size() + later_bytes_.size() >= full || Clock::now() - since_ > moment)
            flush(work, instance.get());
    }
    flush(work, instance.get());
    current_object = 0;
    return instance;
}

std::shared_ptr<void> Executor::make(Call const& call) {
    try {
        Reader reader(call.arguments.bytes);
        auto instance = call.method->make(reader);
        if (call.state) {
            Reader state(*call.state);
            call.method->keeping->restore(instance.get(), state);
        }
        making_ = &call;
        auto const begin = bytes_.size();
        encode(bytes_, current_object);
        add(call, Op::value, begin);
        return instance;
    } catch (...) {
        note_failure(call);
        return nullptr;
    }
}

void Executor::execute(void* instance, Call const& call) {
    auto const begin = bytes_.size();
    if (call.saves != Saves::no) {
        saves_ = std::max(saves_, call.saves);
        return add(call, Op::value, begin);
    }
    ++calls_;
    try {
        Reader reader(call.arguments.bytes);
        call.method->run(instance, reader, bytes_);
        bool const answers = RunningCall::current()->answers();
        if (call.oneway || !answers) bytes_.truncate(begin);
        if (!answers) return;
        add(call, call.oneway ? Op::done : Op::value, begin);
    } catch (...) {
        bytes_.truncate(begin);
        if (RunningCall::current()->answers()) note_failure(call);
    }
}

void Executor::notify(std::shared_ptr<void> const& instance, Call const& call) {
    auto const* const hearer = std::get_deleter<detail::Hearer>(instance);
    if (hearer == nullptr) return;
    try {
        if (call.notice == Notice::lost && hearer->lost != nullptr)
            hearer->lost(instance.get(), {call.client});
        // Who is lost has withdrawn, too.
        if (hearer->withdrawn != nullptr) hearer->withdrawn(instance.get());
    } catch (...) {
        auto const record = detail::describe(std::current_exception());
        log_warning(text("an object that heard of its callers' end threw: ", record.text()));
    }
}

// Within a handler.
void Executor::note_failure(Call const& call) {
    auto record = detail::describe(std::current_exception());
    record.function = detail::task_name(*call.method);
    if (call.oneway) log_warning(text("a one-way call failed: ", record.text()));
    else if (call.client == 0) log_warning(text("an object cannot be made again: ", record.text()));
    auto const begin = bytes_.size();
    if (!call.oneway) record.encode_to(bytes_);
    add(call, call.oneway ? Op::done : Op::failure, begin);
}

void Executor::add(Call const& call, Op op, std::size_t begin) {
    answers_.push_back({call.client, op, call.number, begin, bytes_.size() - begin});
}

void Executor::add_later(Answer answer, Writer const& bytes) {
    answer.begin = later_bytes_.size();
    later_bytes_.write(bytes.bytes().data(), bytes.size());
    later_.push_back(answer);
}

void Executor::flush(Work const& work, void* instance) {
    for (auto& each : later_) {
        each.begin += bytes_.size();
        answers_.push_back(each);
    }
    bytes_.write(later_bytes_.bytes().data(), later_bytes_.size());
    // Calls that are answered later may have changed the object.
    if (!answers_.empty() || calls_ > 0)
        send_({work.object, instance, making_, calls_, saves_, answers_, bytes_});
    answers_.clear();
    bytes_.clear();
    making_ = nullptr;
    calls_ = 0;
    saves_ = Saves::no;
    later_bytes_.clear();
    since_ = Clock::now();
}

}  // namespace sinew::manager
