// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/options.hpp"

#include <sinew/error.hpp>
#include <string>

#include "src/base/text.hpp"

namespace sinew::pool {
namespace {

constexpr int most_workers = 1 << 20;

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

void check_not_negative(char const* what, Duration time) {
    if (time < Duration::zero())
        throw UsageError(text(what, " = ", seconds(time), " s (must be at least 0)"));
}

bool covers(Meta const& have, Meta const& wish) {
    return (have.cpu == 0 || wish.cpu <= have.cpu) &&
           (have.memory_mib == 0 || wish.memory_mib <= have.memory_mib) && wish.gpu <= have.gpu;
}

std::string words_of(Meta const& meta) {
    if (!meta.any()) return "what this process has";
    std::string words;
    auto const add = [&](std::size_t count, char const* what) {
        if (count > 0) words += text(words.empty() ? "" : ", ", count, what);
    };
    add(static_cast<std::size_t>(meta.cpu), " of its cores");
    add(meta.memory_mib, " MiB of memory");
    add(static_cast<std::size_t>(meta.gpu), " of its GPUs");
    return words;
}

}  // namespace

void check(Workers workers) {
    if (workers.min < 1 || workers.max < workers.min || workers.max > most_workers)
        throw UsageError(text("a pool of ", workers.min, " to ", workers.max,
                              " workers (must be 1 to ", most_workers,
                              ", the second not below the first)"));
}

Workers checked(PoolOptions const& options, WorkerPlacement const& placement) {
    auto const workers = options.workers.value_or(Workers(placement.room(options.meta)));
    check(workers);
    placement.require(options.meta, workers.max);
    if (static_cast<std::uint64_t>(workers.min) > placement.most())
        throw UsageError(text("a pool of ", workers.min,
                              " workers (this process may have the descriptors for ",
                              placement.most(), "). Ask for fewer, or raise ulimit -n"));
    if (options.prefetch < 0)
        throw UsageError(text("prefetch = ", options.prefetch, " (must be at least 0)"));
    if (options.failing_starts < 1)
        throw UsageError(
            text("failing_starts = ", options.failing_starts, " (must be at least 1)"));
    check_not_negative("idle_grace", options.idle_grace);
    check_not_negative("cancel_grace", options.cancel_grace);
    return workers;
}

void check(TaskOptions const& options) {
    if (options.retries < 0)
        throw UsageError(text("retries = ", options.retries, " (must be at least 0)"));
    if (options.chunk < 0)
        throw UsageError(text("chunk = ", options.chunk, " (must be at least 0)"));
    check_not_negative("soft_limit", options.soft_limit);
    check_not_negative("hard_limit", options.hard_limit);
    check_not_negative("wait_limit", options.wait_limit);
    if (options.hard_limit > Duration::zero() && options.soft_limit > options.hard_limit)
        throw UsageError(text("soft_limit = ", seconds(options.soft_limit),
                              " s, beyond hard_limit = ", seconds(options.hard_limit),
                              " s, which ends the task first"));
    auto const& retry = options.retry_on;
    if (retry.times < 0 || retry.backoff < Duration::zero() || retry.backoff > longest_backoff)
        throw UsageError(text("retry_on ", retry.times, " times after ", seconds(retry.backoff),
                              " s (must be at least 0 times, after 0 to ", seconds(longest_backoff),
                              " s)"));
    if (options.at_most_once && options.retry_on.times > 0)
        throw UsageError("at_most_once and retry_on exclude each other. Choose one");
}

SchedulerSettings settings_of(PoolOptions const& options, Workers workers) {
    SchedulerSettings settings;
    settings.min_workers = static_cast<std::uint32_t>(workers.min);
    settings.max_workers = static_cast<std::uint32_t>(workers.max);
    settings.in_flight = 1 + static_cast<std::uint32_t>(options.prefetch);
    settings.max_tasks_per_worker = options.max_tasks_per_worker;
    settings.failing_starts = static_cast<std::uint32_t>(options.failing_starts);
    settings.idle_grace = options.idle_grace;
    settings.cancel_grace = options.cancel_grace;
    return settings;
}

JobOptions job_options(detail::JobSpec const& spec, std::uint32_t bytes_each) {
    JobOptions options;
    options.function = detail::id_of(*spec.function).value;
    options.retries = static_cast<std::uint32_t>(spec.options.retries);
    options.at_most_once = spec.options.at_most_once;
    options.stop_at_failure = spec.stop_at_failure;
    options.chunk = static_cast<std::uint32_t>(spec.options.chunk);
    options.bytes_each = bytes_each;
    return options;
}

void check_meta(detail::TaskEntry const& function, PoolOptions const& options, Meta const& have) {
    auto const& wish = function.meta;
    if (!wish.any() || wish == have || (options.meta.any() && covers(have, wish))) return;
    throw UsageError(
        text(detail::task_name(function), " needs ", words_of(wish),
             " (meta_of), but each worker of this pool has ", words_of(have), " (by ",
             options.meta.any() ? "PoolOptions::meta" : "its first function",
             "). Create another pool for it, or one whose PoolOptions::meta is enough for both"));
}

}  // namespace sinew::pool
