// SPDX-License-Identifier: Apache-2.0
#include <sinew/pool/result_stream.hpp>

#include "src/process/runtime.hpp"

namespace sinew::detail {
namespace {

// Enough for full batches even of tasks of a few nanoseconds; the Scheduler chooses batch sizes.
constexpr std::uint64_t most_tasks = 16384;
constexpr std::uint64_t tasks_at_first = 256;
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

}  // namespace

StreamFeeder::StreamFeeder(std::shared_ptr<PoolMaster> master, JobSpec spec, Pull pull)
    : master_(std::move(master)), pull_(std::move(pull)), most_tasks_(tasks_at_first) {
    spec.arguments = pull_some();
    spec.complete = exhausted_;
    job_ = spec.job;
    master_->submit(std::move(spec));
}

StreamFeeder::~StreamFeeder() {
    if (process::Runtime::forked()) return;
    if (outstanding_ > 0 || !exhausted_) master_->cancel(job_);
}

std::uint64_t StreamFeeder::bytes_ahead() const {
    return pulled_ == 0 ? 0 : outstanding_ * (bytes_ / pulled_ + result_bytes_);
}

std::shared_ptr<ArgumentBlock> StreamFeeder::pull_some() {
    auto block = std::make_shared<ArgumentBlock>();
    auto ahead = bytes_ahead();
    while (!exhausted_ && outstanding_ < most_tasks_ && ahead < most_bytes) {
        auto const before = block->bytes.size();
        if (!pull_(*block)) {
            exhausted_ = true;
            break;
        }
        block->task_ended();
        ++outstanding_;
        ++pulled_;
        bytes_ += block->bytes.size() - before;
        ahead += block->bytes.size() - before + result_bytes_;
    }
    return block;
}

void StreamFeeder::taken_one(std::uint64_t result_bytes) {
    --outstanding_;
    result_bytes_ = result_bytes;
    most_tasks_ = most_tasks;
    if (exhausted_ || outstanding_ > most_tasks / 2 || bytes_ahead() > most_bytes / 2) return;
    auto block = pull_some();
    master_->grow(job_, std::move(block), exhausted_);
}

}  // namespace sinew::detail
