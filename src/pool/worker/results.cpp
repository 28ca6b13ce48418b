// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <sinew/error.hpp>

#include "src/pool/worker/worker_process.hpp"

namespace sinew::pool {
namespace {

using namespace std::chrono_literals;

// Results of batches so near each other leave in one system call: the next one's report takes along
// what waits, and should that take long, the watchdog does.
constexpr auto together = 100us;

// Of the part that begins at `at`, what lies within from .. from+size-1.
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

// Beside the one that is executed.
bool WorkerProcess::another_is_ready() const {
    return std::ranges::any_of(
        batches_, [](auto const& batch) { return !batch->executing && !batch->waiting; });
}

// False: there is no memory for a second copy of them, or the master cannot see it. They are to be sent then.
bool WorkerProcess::send_file(ResultsHead const& head, Bytes errors, Bytes results) {
    std::optional<process::SharedFile> file;
    try {
        file = process::SharedFile::make({bytes_of(head), errors, results});
    } catch (SystemError const&) {  // the stream needs less
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

// The master may be slow to read: not much more is copied than it takes.
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
