// SPDX-License-Identifier: Apache-2.0
#include "src/pool/worker/worker_process.hpp"

#include <unistd.h>

#include <algorithm>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/pool/worker/fork_guard.hpp"

namespace sinew::pool {
namespace {

using namespace std::chrono_literals;

// For what is queued to leave at the end; the master is there, and reads.
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
        page_, current_, executor_, seat_, loop_, guard_, told_.max_rss_bytes,
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
            seat_.drive();
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
    decltype(forgotten_) forgotten;  // destroyed last, without the guard: their state is the user's
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
    seat_.release_background();
    return ready->get();
}

void WorkerProcess::finish(WorkerBatch& batch) {
    std::unique_ptr<WorkerBatch> own;  // its job may be the last of it: destroyed without the guard
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
        seat_.drive();
    }
}

// What is out needs nobody any more: it can be read when we are gone. When the other end closes is
// its own business.
void WorkerProcess::close_links() {
    wire::Loop::Handle look;
    {
        std::lock_guard const lock(guard_);
        leaving_ = true;
        bulk_->close(farewell_patience);
        control_->close(farewell_patience);
        look = loop_.every(1ms, [this] { seat_.leave(); });
    }
    drive_until([this] { return bulk_->queued() == 0 && control_->queued() == 0; });
    std::lock_guard const lock(guard_);
    look = {};
}

}  // namespace sinew::pool
