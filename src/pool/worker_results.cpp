// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/pool/worker.hpp"

namespace sinew::pool {
namespace {

// Of the part that begins at `at`, what lies within from .. from+size-1.
Bytes cut(Bytes part, std::size_t at, std::size_t from, std::size_t size) {
    auto const begin = std::clamp(from, at, at + part.size()) - at;
    auto const end = std::clamp(from + size, at, at + part.size()) - at;
    return part.subspan(begin, end - begin);
}

}  // namespace

void Worker::send(Report const& report) {
    auto head = report.head;
    auto errors = report.errors, results = report.results;
    if (errors.size() + results.size() > large) {
        head.transfer = send_pieces(errors, results);
        errors = results = {};
    }
    std::lock_guard const lock(guard_);
    auto const flow = control_->send_now(static_cast<std::uint8_t>(Kind::results), 0,
                                         {bytes_of(head), errors, results});
    if (flow == wire::Flow::full) control_full_ = true;
}

// The master may be slow to read: not much more is copied than it takes.
std::uint64_t Worker::send_pieces(Bytes errors, Bytes results) {
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
