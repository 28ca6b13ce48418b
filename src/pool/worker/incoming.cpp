// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/pool/worker/worker_process.hpp"

namespace sinew::pool {
namespace {

std::chrono::milliseconds ms(std::uint64_t count) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(count));
}

// A callback that throws would end the loop's run in whichever thread drives it.
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
                          seat_.leave();
                      }});
    bulk_->on({.message = [this](auto const& message) { take_piece(message); },
               .end = over,
               .drained =
                   [this] {
                       bulk_full_ = false;
                       seat_.leave();
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
            if (!transfers_.add(piece.head, piece.bytes)) return;
            auto const wants = [&](auto const& batch) {
                return batch->waiting && batch->head.transfer == piece.head.transfer;
            };
            auto const found = std::ranges::find_if(batches_, wants);
            if (found == batches_.end()) return;
            (*found)->arguments = transfers_.take(piece.head.transfer);
            (*found)->waiting = false;
            seat_.leave();
        },
        [this](auto const* why) { give_up(why); });
}

void WorkerProcess::ended(wire::LinkEnd const& end) {
    if (end.cause == wire::LinkEnd::Cause::silent) die(page_, Verdict::lease_over);
    if (end.cause == wire::LinkEnd::Cause::violation) give_up(end.text);
    if (!leaving_) ::_exit(1);  // there is no master any more
}

void WorkerProcess::told(FunctionTold const& function) {
    auto const& head = function.head;
    auto const* const entry = detail::find_task({head.task_id});
    if (entry != nullptr) {
        jobs_[head.job] = std::make_shared<WorkerJob>(head, *entry, Blob(function.state));
        return;
    }
    unusable_ = text(name_, " does not know the task ", head.task_id, ". It runs ",
                     detail::program_identity().text, "; its master ", told_.program,
                     ". Install the same build everywhere");
    control_->send(static_cast<std::uint8_t>(Kind::refused), 0,
                   {std::as_bytes(std::span(unusable_))});
    released_ = true;
    seat_.leave();
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
        batch->arguments = Blob(tasks.arguments);
    } else if (transfers_.complete(head.transfer)) {
        batch->arguments = transfers_.take(head.transfer);
        batch->waiting = false;
    }
    batches_.push_back(std::move(batch));
    seat_.leave();
}

void WorkerProcess::told(RevokeTold const& revoke) {
    auto const found = std::ranges::find(batches_, revoke.batch,
                                         [](auto const& batch) { return batch->head.batch; });
    if (found == batches_.end()) return;  // all its results are on their way
    auto const kept = give_back(**found);
    if (kept == 0 && !(*found)->executing) drop(**found);
}

/// What has not begun. Returns how many are kept.
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
    seat_.leave();
}

void WorkerProcess::told(ReleaseTold const&) {
    released_ = true;
    seat_.leave();
}

void WorkerProcess::told(FencedTold const&) { ::_exit(1); }

void WorkerProcess::told(MappedTold const& mapped) {
    mapped_ = mapped.head;
    seat_.leave();
}

void WorkerProcess::drop(WorkerBatch const& batch) {
    if (batch.waiting) transfers_.discard(batch.head.transfer);
    forgotten_.push_back(batch.job);
    auto const found = std::ranges::find(batches_, &batch, &std::unique_ptr<WorkerBatch>::get);
    batches_.erase(found);
    seat_.leave();
}

void WorkerProcess::give_up(std::string const& why) {
    log_warning(text(name_, ": its master sent an invalid message (", why, "), so it ends"));
    ::_exit(1);
}

}  // namespace sinew::pool
