// SPDX-License-Identifier: Apache-2.0
#include "src/pool/worker/executor.hpp"

#include <algorithm>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/pool/worker/fork_guard.hpp"
#include "src/pool/worker/watchdog.hpp"

namespace sinew::pool {
namespace {

using namespace std::chrono_literals;

constexpr auto report_after = 2ms;
constexpr std::size_t report_beyond = std::size_t{256} << 10;
constexpr std::size_t keep_room = std::size_t{4} << 20;
constexpr std::uint32_t longest_stretch = 64;
constexpr auto long_stretch = 100us;

void clear(Writer& writer) {
    if (writer.size() > keep_room) writer = Writer();
    else writer.clear();
}

}  // namespace

void WorkerJob::prepare() {
    if (std::exchange(prepared, true) || entry.make == nullptr) return;
    try {
        Reader reader(state.bytes());
        object = entry.make(reader);
    } catch (...) {
        unusable = std::current_exception();
    }
    state = {};
}

Executor::Executor(process::StatusPage& page, CurrentTask& current,
                   std::function<void(Report const&)> report,
                   std::function<void(WorkerBatch&)> give_back)
    : page_(page), current_(current), report_(std::move(report)), give_back_(std::move(give_back)) {
}

void Executor::run(WorkerBatch& batch) {
    begin(batch);
    Reader arguments(batch.arguments.bytes());
    auto now = since_;
    std::uint32_t next = 0;
    while (next < batch.head.count) {
        // Once the lease is over, another worker may execute these tasks again.
        if (page_.lease_is_over()) die(page_, Verdict::lease_over);
        auto const wanted = std::min(batch.job->stretch, batch.head.count - next);
        auto const reached = stretch(batch, arguments, next, next + wanted);
        bool const given_back = reached < next + wanted && !much_to_report();
        next = reached;
        auto const then = std::exchange(now, Clock::now());
        adapt(*batch.job, now - then);
        if (given_back) break;
        bool const last = next == batch.head.count;
        if (!last && (now - since_ >= report_after || much_to_report())) {
            report(batch, next);
            now = since_;
        }
    }
    if (next > reported_) report(batch, next);
    page_.running.store(nothing_running, std::memory_order_release);
    watch_forks_of(nullptr);
}

void Executor::begin(WorkerBatch& batch) {
    auto const& limits = batch.job->head;
    soft_limit_ns_.store(limits.soft_limit_ns, std::memory_order_release);
    hard_limit_ns_.store(limits.hard_limit_ns, std::memory_order_release);
    current_.enter_batch(batch.head.first, batch.head.attempt);
    watch_forks_of(&batch.progress);
    batch.job->prepare();
    reported_ = 0;
    since_ = Clock::now();
}

std::uint32_t Executor::stretch(WorkerBatch& batch, Reader& arguments, std::uint32_t from,
                                std::uint32_t until) {
    auto& job = *batch.job;
    for (auto offset = from; offset < until; ++offset) {
        page_.running.store(running_word(batch.head.batch, offset), std::memory_order_relaxed);
        if (!batch.progress.begin(offset)) return offset;
        auto const size = results_.size(), left = arguments.left();
        try {
            if (job.unusable) [[unlikely]]
                std::rethrow_exception(job.unusable);
            job.entry.run(job.object.get(), arguments, results_);
        } catch (...) {
            results_.truncate(size);
            note_failure(batch, offset, std::current_exception());
            bool const unread = !job.unusable && left > 0 && arguments.left() == left;
            // The start of the next task's arguments is unknown, so the rest is given back and sent
            // again.
            if (unread && offset + 1 < batch.head.count) {
                end_if_forked();
                give_back_(batch);
            }
        }
        if (much_to_report()) return offset + 1;
    }
    return until;
}

void Executor::note_failure(WorkerBatch const& batch, std::uint32_t offset,
                            std::exception_ptr const& error) {
    auto record = detail::describe(error);
    record.function = detail::task_name(batch.job->entry);
    record.task = batch.head.first + offset;
    record.attempt = batch.head.attempt;
    errors_.write(&offset, sizeof offset);
    record.encode_to(errors_);
    ++thrown_;
}

// Adapts the number of tasks between two clock reads: many if they are short, one if they are long.
void Executor::adapt(WorkerJob& job, Clock::duration took) {
    job.stretch = took < long_stretch ? std::min(2 * job.stretch, longest_stretch) : 1;
}

bool Executor::much_to_report() const { return results_.size() + errors_.size() > report_beyond; }

void Executor::report(WorkerBatch const& batch, std::uint32_t done) {
    end_if_forked();
    // The time from here on does not count for the last task.
    page_.running.store(nothing_running, std::memory_order_release);
    auto const busy = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - since_);
    ResultsHead const head{.batch = batch.head.batch,
                           .from = reported_,
                           .done = done,
                           .thrown = thrown_,
                           .reserved = 0,
                           .busy_ns = static_cast<std::uint64_t>(busy.count()),
                           .transfer = 0};
    report_({head, errors_.bytes(), results_.bytes()});
    reported_ = done;
    thrown_ = 0;
    clear(results_);
    clear(errors_);
    since_ = Clock::now();
}

}  // namespace sinew::pool
