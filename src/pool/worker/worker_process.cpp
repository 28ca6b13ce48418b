// SPDX-License-Identifier: Apache-2.0
#include "src/pool/worker/worker_process.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <sinew/error.hpp>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/pool/worker/fork_guard.hpp"

namespace sinew::pool {
namespace {

using namespace std::chrono_literals;

// Time limit for sending queued messages at the end.
constexpr auto farewell_patience = 5s;

}  // namespace

WorkerProcess::WorkerProcess(process::ChildStart& start, WorkerStart told)
    : name_(start.name), told_(std::move(told)), page_(*start.status),
      executor_(
          page_, current_, [this](Report const& report) { send(report); },
          [this](WorkerBatch& batch) {
              std::lock_guard const lock(guard_);
              give_back(batch);
          }) {
    page_.running.store(nothing_running);
    watch_forks(&page_);
    std::lock_guard const lock(guard_);
    adopt_links(start);
    watchdog_.emplace(Watchdog::WatchdogConfig{
        page_, current_, executor_, loop_leader_, loop_, guard_, told_.max_rss_bytes,
        [this] { control_->send_now(static_cast<std::uint8_t>(Kind::recycled), 0, {}); }});
}

WorkerProcess::~WorkerProcess() {
    watchdog_.reset();
    std::lock_guard const lock(guard_);
    control_ = nullptr;
    bulk_ = nullptr;
}

int WorkerProcess::run() {
    auto problem = problem_at_start();
    if (problem.empty()) problem = initialize();
    if (!problem.empty()) return refuse(problem);
    {
        std::lock_guard const lock(guard_);
        ReadyHead const head{static_cast<std::uint64_t>(::getpid())};
        control_->send_now(static_cast<std::uint8_t>(Kind::ready), 0, {bytes_of(head)});
    }
    for (;;) {
        if (auto* const batch = next_batch()) {
            watchdog_->wake();
            executor_.run(*batch);
            finish(*batch);
        } else if (all_done()) {
            break;
        } else {
            loop_leader_.drive();
        }
    }
    std::lock_guard const lock(guard_);
    return unusable_.empty() ? 0 : 1;
}

std::string WorkerProcess::problem_at_start() {
    auto const& own = detail::program_identity().text;
    if (told_.program == own) return "";
    return text(name_, " runs a different program than its master: ", own,
                "; the master's: ", told_.program, ". Install the same build everywhere");
}

std::string WorkerProcess::initialize() {
    if (told_.initializer == 0) return "";
    auto const* const entry = detail::find_task({told_.initializer});
    if (entry == nullptr)
        return text("initializer ", told_.initializer, " is not in this program (",
                    detail::program_identity().text, ")");
    watchdog_->wake();
    try {
        Reader reader(std::as_bytes(std::span(told_.initializer_arguments)));
        auto const object = entry->make == nullptr ? nullptr : entry->make(reader);
        Writer nothing;
        entry->run(object.get(), reader, nothing);
    } catch (...) {
        auto record = detail::describe(std::current_exception());
        record.function = detail::task_name(*entry);
        return record.text();
    }
    end_if_forked();
    return "";
}

int WorkerProcess::refuse(std::string const& why) {
    {
        std::lock_guard const lock(guard_);
        control_->send(static_cast<std::uint8_t>(Kind::refused), 0,
                       {std::as_bytes(std::span(why))});
    }
    close_links();
    return 1;
}

WorkerBatch* WorkerProcess::next_batch() {
    decltype(forgotten_) forgotten;  // destroyed last, without the guard: their state is user data
    std::unique_lock lock(guard_);
    forgotten.swap(forgotten_);
    if (control_full_) {
        lock.unlock();
        drive_until([this] { return !control_full_; });
        lock.lock();
    }
    auto const ready = std::ranges::find_if(batches_, [](auto const& b) { return !b->waiting; });
    if (ready == batches_.end()) return nullptr;
    (*ready)->executing = true;
    lock.unlock();
    loop_leader_.release_background();
    return ready->get();
}

void WorkerProcess::finish(WorkerBatch& batch) {
    std::unique_ptr<WorkerBatch>
        own;  // destroyed without the guard: may be the last owner of its job
    std::lock_guard const lock(guard_);
    auto const found = std::ranges::find(batches_, &batch, &std::unique_ptr<WorkerBatch>::get);
    own = std::move(*found);
    batches_.erase(found);
}

bool WorkerProcess::all_done() {
    {
        std::lock_guard const lock(guard_);
        if (!released_ || !batches_.empty()) return false;
    }
    close_links();
    return true;
}

void WorkerProcess::drive_until(std::function<bool()> const& condition) {
    for (;;) {
        {
            std::lock_guard const lock(guard_);
            if (condition()) return;
        }
        loop_leader_.drive();
    }
}

// Waits until everything is written. The master can read it after this process has ended, so its
// close is not awaited.
void WorkerProcess::close_links() {
    wire::Loop::Handle look;
    {
        std::lock_guard const lock(guard_);
        leaving_ = true;
        bulk_->close(farewell_patience);
        control_->close(farewell_patience);
        look = loop_.every(1ms, [this] { loop_leader_.leave(); });
    }
    drive_until([this] { return bulk_->queued() == 0 && control_->queued() == 0; });
    std::lock_guard const lock(guard_);
    look = {};
}

// ---- messages from the master -------------------------------------------------------------------

namespace {

std::chrono::milliseconds ms(std::uint64_t count) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(count));
}

// Calls `give_up` if `work` throws: an exception would end the loop's run in the driving thread.
template <class Work, class GiveUp>
void guarded(Work work, GiveUp give_up) {
    try {
        work();
    } catch (std::exception const& error) {
        give_up(error.what());
    }
}

}  // namespace

void WorkerProcess::adopt_links(process::ChildStart& start) {
    auto options = process::control_options();
    options.heartbeat = ms(told_.heartbeat_ms);
    options.suspect_after = {};
    options.dead_after = ms(told_.lease_ms);
    auto const master = process::parent_identity(start);
    control_ = wire::adopt(loop_, std::move(start.control), master, options);
    bulk_ = wire::adopt(loop_, std::move(start.bulk), master, process::bulk_options());
    auto const over = [this](wire::LinkEnd const& end) { ended(end); };
    control_->on({.message = [this](auto const& message) { take(message); },
                  .end = over,
                  .drained =
                      [this] {
                          control_full_ = false;
                          loop_leader_.leave();
                      }});
    bulk_->on({.message = [this](auto const& message) { take_piece(message); },
               .end = over,
               .drained =
                   [this] {
                       bulk_full_ = false;
                       loop_leader_.leave();
                   }});
}

void WorkerProcess::take(wire::Message const& message) {
    guarded(
        [&] {
            std::visit([this](auto const& what) { told(what); },
                       read_told(message.kind, message.payload));
        },
        [this](auto const* why) { give_up(why); });
}

void WorkerProcess::take_piece(wire::Message const& message) {
    guarded(
        [&] {
            auto const piece = read_piece(message.kind, message.payload);
            if (!transfers_.add(piece)) return;
            auto const wants = [&](auto const& batch) {
                return batch->waiting && batch->head.transfer == piece.head.transfer;
            };
            auto const found = std::ranges::find_if(batches_, wants);
            if (found == batches_.end()) return;
            (*found)->arguments = transfers_.take(piece.head.transfer);
            (*found)->waiting = false;
            loop_leader_.leave();
        },
        [this](auto const* why) { give_up(why); });
}

void WorkerProcess::ended(wire::LinkEnd const& end) {
    if (end.cause == wire::LinkEnd::Cause::silent) die(page_, Verdict::lease_over);
    if (end.cause == wire::LinkEnd::Cause::violation) give_up(end.text);
    if (!leaving_) ::_exit(1);  // the master is gone
}

void WorkerProcess::told(FunctionTold const& function) {
    auto const& head = function.head;
    auto const* const entry = detail::find_task({head.task_id});
    if (entry != nullptr) {
        jobs_[head.job] = std::make_shared<WorkerJob>(head, *entry, GrowingBuffer(function.state));
        return;
    }
    unusable_ = text(name_, " does not know the task ", head.task_id, ". It runs ",
                     detail::program_identity().text, "; its master ", told_.program,
                     ". Install the same build everywhere");
    control_->send(static_cast<std::uint8_t>(Kind::refused), 0,
                   {std::as_bytes(std::span(unusable_))});
    released_ = true;
    loop_leader_.leave();
}

void WorkerProcess::told(TasksTold const& tasks) {
    auto const& head = tasks.head;
    auto const job = jobs_.find(head.job);
    if (job == jobs_.end()) {
        if (!unusable_.empty()) return;
        give_up(text("tasks of job ", head.job, ", which has no function"));
    }
    auto batch = std::make_unique<WorkerBatch>(head, job->second, guard_);
    if (head.transfer == 0) {
        batch->arguments = GrowingBuffer(tasks.arguments);
    } else if (transfers_.complete(head.transfer)) {
        batch->arguments = transfers_.take(head.transfer);
        batch->waiting = false;
    }
    batches_.push_back(std::move(batch));
    loop_leader_.leave();
}

void WorkerProcess::told(RevokeTold const& revoke) {
    auto const found = std::ranges::find(batches_, revoke.batch,
                                         [](auto const& batch) { return batch->head.batch; });
    if (found == batches_.end()) return;  // all its results are in flight
    auto const kept = give_back(**found);
    if (kept == 0 && !(*found)->executing) drop(**found);
}

/// Gives back the tasks that have not begun. Returns how many tasks are kept.
std::uint32_t WorkerProcess::give_back(WorkerBatch& batch) {
    auto const kept = batch.progress.revoke();
    RevokedHead const head{batch.head.batch, kept, 0};
    control_->send(static_cast<std::uint8_t>(Kind::revoked), 0, {bytes_of(head)});
    return kept;
}

void WorkerProcess::told(StopTaskTold const& stop) {
    auto const word = current_.word();
    if (word != nothing_running && word >> 32 == (stop.batch & UINT32_MAX))
        current_.ask_to_stop(word);
}

void WorkerProcess::told(ForgetTold const& forget) {
    auto const found = jobs_.find(forget.job);
    if (found == jobs_.end()) return;
    forgotten_.push_back(std::move(found->second));
    jobs_.erase(found);
    loop_leader_.leave();
}

void WorkerProcess::told(ReleaseTold const&) {
    released_ = true;
    loop_leader_.leave();
}

void WorkerProcess::told(FencedTold const&) { ::_exit(1); }

void WorkerProcess::told(MappedTold const& mapped) {
    mapped_ = mapped.head;
    loop_leader_.leave();
}

void WorkerProcess::drop(WorkerBatch const& batch) {
    if (batch.waiting) transfers_.discard(batch.head.transfer);
    forgotten_.push_back(batch.job);
    auto const found = std::ranges::find(batches_, &batch, &std::unique_ptr<WorkerBatch>::get);
    batches_.erase(found);
    loop_leader_.leave();
}

void WorkerProcess::give_up(std::string const& why) {
    log_warning(text(name_, ": its master sent an invalid message (", why, "), so it ends"));
    ::_exit(1);
}

// ---- results ------------------------------------------------------------------------------------

namespace {

using namespace std::chrono_literals;

// Results of batches this close together are sent by one system call: with the next batch's report,
// or by the watchdog if that takes long.
constexpr auto together = 100us;

// Returns the bytes from .. from+size-1 that lie in the part that begins at `at`.
Bytes cut(Bytes part, std::size_t at, std::size_t from, std::size_t size) {
    auto const begin = std::clamp(from, at, at + part.size()) - at;
    auto const end = std::clamp(from + size, at, at + part.size()) - at;
    return part.subspan(begin, end - begin);
}

}  // namespace

void WorkerProcess::send(Report const& report) {
    auto head = report.head;
    auto errors = report.errors, results = report.results;
    if (errors.size() + results.size() > large) {
        if (told_.maps_files && send_file(head, errors, results)) return;
        head.transfer = send_pieces(errors, results);
        errors = results = {};
    }
    std::lock_guard const lock(guard_);
    auto const kind = static_cast<std::uint8_t>(Kind::results);
    auto const now = wire::Clock::now();
    bool const soon = now - flushed_ < together && another_is_ready();
    if (!soon) flushed_ = now;
    auto const flow = soon ? control_->send(kind, 0, {bytes_of(head), errors, results})
                           : control_->send_now(kind, 0, {bytes_of(head), errors, results});
    if (flow == wire::Flow::full) control_full_ = true;
}

// Returns whether a batch beside the executing one can be executed.
bool WorkerProcess::another_is_ready() const {
    return std::ranges::any_of(
        batches_, [](auto const& batch) { return !batch->executing && !batch->waiting; });
}

// Returns false if there is no memory for a second copy, or the master cannot map it. The results
// must be sent then.
bool WorkerProcess::send_file(ResultsHead const& head, Bytes errors, Bytes results) {
    std::optional<process::SharedFile> file;
    try {
        file = process::SharedFile::make({bytes_of(head), errors, results});
    } catch (SystemError const&) {  // sending needs less memory
        return false;
    }
    ResultsFileHead const offered{++last_transfer_, file->place()};
    {
        std::lock_guard const lock(guard_);
        flushed_ = wire::Clock::now();
        mapped_.reset();
        control_->send_now(static_cast<std::uint8_t>(Kind::results_file), 0, {bytes_of(offered)});
    }
    drive_until([&] { return mapped_ && mapped_->transfer == offered.transfer; });
    std::lock_guard const lock(guard_);
    return mapped_->done != 0;
}

// Waits while the link is full, so that little more is queued than the master reads.
std::uint64_t WorkerProcess::send_pieces(Bytes errors, Bytes results) {
    PieceHead const head{++last_transfer_, errors.size() + results.size()};
    for (std::size_t from = 0; from < head.total; from += piece_size) {
        drive_until([this] { return !bulk_full_; });
        std::lock_guard const lock(guard_);
        auto const flow = bulk_->send_now(static_cast<std::uint8_t>(Kind::piece), 0,
                                          {bytes_of(head), cut(errors, 0, from, piece_size),
                                           cut(results, errors.size(), from, piece_size)});
        if (flow == wire::Flow::full) bulk_full_ = true;
    }
    return head.transfer;
}

}  // namespace sinew::pool
