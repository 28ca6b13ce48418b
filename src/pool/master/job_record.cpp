// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/job_record.hpp"

#include <algorithm>
#include <sinew/error.hpp>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::pool {

std::deque<JobRecord::Block>::iterator JobRecord::block_of(std::uint64_t index) {
    return std::prev(std::upper_bound(
        blocks_.begin(), blocks_.end(), index,
        [](std::uint64_t wanted, Block const& block) { return wanted < block.first; }));
}

JobRecord::Arguments JobRecord::arguments(std::uint64_t first, std::uint64_t count) const {
    Arguments found;
    auto block = const_cast<JobRecord*>(this)->block_of(first);
    while (count > 0) {
        auto const offset = first - block->first;
        auto const here = std::min(count, block->arguments->count() - offset);
        auto const bytes = block->arguments->of(offset, here);
        found.parts.push_back(bytes);
        found.keep.push_back(block->arguments);
        found.size += bytes.size();
        first += here;
        count -= here;
        ++block;
    }
    return found;
}

void JobRecord::ended(std::uint64_t first, std::uint64_t count) {
    ended_ += count;
    while (count > 0) {
        auto const block = block_of(first);
        auto const here = std::min(count, block->first + block->arguments->count() - first);
        block->ended += here;
        first += here;
        count -= here;
    }
    while (!blocks_.empty() && blocks_.front().ended == blocks_.front().arguments->count())
        blocks_.pop_front();
}

Thrown JobRecord::thrown(std::uint32_t offset, ErrorRecord const& error) const {
    auto const& retry = spec_.options.retry_on;
    Thrown told{.offset = offset};
    if (retry.matches == nullptr || error.attempt > static_cast<std::uint32_t>(retry.times))
        return told;
    try {
        told.again = retry.matches(detail::revive(error));
    } catch (std::exception const& problem) {  // matches() is user code
        log_warning(text("pool: retry_on of ", detail::task_name(*spec_.function), " threw (",
                         problem.what(), "); its task is not executed again"));
    }
    auto const factor = std::int64_t{1} << std::min(error.attempt - 1, 20U);
    told.backoff = std::min(retry.backoff, longest_backoff / factor) * factor;
    return told;
}

// Gives the sink runs of values between the tasks that threw.
void JobRecord::accept(std::uint64_t first, std::uint64_t count, ArrivedResults& arrived) {
    auto const end = first + count;
    std::exception_ptr undecodable;  // set: the following values cannot be found
    auto const give = [&](std::uint64_t until) {
        if (until == first) return;
        if (undecodable)
            for (auto index = first; index < until; ++index) sink().failed(index, undecodable);
        else
            undecodable =
                sink().results(first, static_cast<std::uint32_t>(until - first), arrived.values);
        ended(first, until - first);
    };
    try {
        for (auto const& [index, error] : arrived.errors) {
            if (index < first || index >= end) continue;
            give(index);
            first = index + 1;
        }
        give(end);
    } catch (...) {  // out of memory: the other tasks fail
        auto const error = std::current_exception();
        for (; first < end; ++first) sink().failed(first, error);
        throw;
    }
}

std::exception_ptr JobRecord::error_of(Fail const& action, ArrivedResults const* arrived) const {
    if (action.reason == Fail::Reason::thrown && arrived != nullptr)
        for (auto const& [index, error] : arrived->errors)
            if (index == action.index) return detail::revive(error);
    ErrorRecord record;
    record.type = "sinew::WorkerDied";
    record.function = detail::task_name(*spec_.function);
    record.task = action.index;
    record.attempt = action.attempts;
    record.what =
        action.reason == Fail::Reason::maybe_executed
            ? text("the worker died (", action.why,
                   ") when the task may have begun, and TaskOptions::at_most_once was set")
            : text("the worker died: ", action.why);
    auto const cause =
        action.reason == Fail::Reason::memory    ? sinew::WorkerDied::Cause::out_of_memory
        : action.reason == Fail::Reason::timeout ? sinew::WorkerDied::Cause::time_limit
                                                 : sinew::WorkerDied::Cause::crash;
    return std::make_exception_ptr(
        sinew::WorkerDied(std::move(record), cause, action.reason == Fail::Reason::maybe_executed));
}

void JobRecord::fail(Fail const& action, ArrivedResults const* arrived) {
    sink().failed(action.index, error_of(action, arrived));
    ended(action.index, 1);
}

void JobRecord::drop(std::uint64_t first, std::uint64_t count, std::string const& broken) {
    if (broken.empty()) {
        sink().dropped(first, count);
    } else {
        auto const error = std::make_exception_ptr(PoolBroken(broken));
        for (std::uint64_t i = 0; i < count; ++i) sink().failed(first + i, error);
    }
    ended(first, count);
}

}  // namespace sinew::pool
