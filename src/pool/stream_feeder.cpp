// SPDX-License-Identifier: Apache-2.0
#include <sinew/result_stream.hpp>

namespace sinew::detail {
namespace {

// Enough that even tasks of a few nanoseconds come in batches; see Core for how they are cut.
constexpr std::uint64_t most_tasks = 16384;
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

}  // namespace

StreamFeeder::StreamFeeder(std::shared_ptr<PoolMaster> master, JobSpec spec, Pull pull)
    : master_(std::move(master)), pull_(std::move(pull)) {
    spec.arguments = pull_some();
    spec.complete = exhausted_;
    job_ = spec.job;
    master_->submit(std::move(spec));
}

StreamFeeder::~StreamFeeder() {
    if (outstanding_ > 0 || !exhausted_) master_->cancel(job_);
}

std::shared_ptr<ArgumentBlock> StreamFeeder::pull_some() {
    auto block = std::make_shared<ArgumentBlock>();
    // By the average, what is outstanding has about this many bytes.
    auto const each = pulled_ == 0 ? 0 : bytes_ / pulled_;
    auto ahead = outstanding_ * each;
    while (!exhausted_ && outstanding_ < most_tasks && ahead < most_bytes) {
        auto const before = block->bytes.size();
        if (!pull_(*block)) {
            exhausted_ = true;
            break;
        }
        block->task_ended();
        ++outstanding_;
        ++pulled_;
        bytes_ += block->bytes.size() - before;
        ahead += block->bytes.size() - before;
    }
    return block;
}

void StreamFeeder::taken_one() {
    --outstanding_;
    if (exhausted_) return;
    auto const each = bytes_ / pulled_;
    if (outstanding_ > most_tasks / 2 || outstanding_ * each > most_bytes / 2) return;
    auto block = pull_some();
    master_->grow(job_, std::move(block), exhausted_);
}

}  // namespace sinew::detail
