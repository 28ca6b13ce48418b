// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <sinew/detail/pool_job.hpp>
#include <span>
#include <vector>

#include "src/pool/scheduler/events.hpp"

namespace sinew::pool {

/// A job in progress: its function, its remaining arguments, and where its results go.
class JobRecord {
public:
    explicit JobRecord(detail::JobSpec spec) : spec_(std::move(spec)) {
        add(std::move(spec_.arguments));
    }
    detail::JobSpec const& spec() const { return spec_; }
    detail::JobSink& sink() const { return *spec_.sink; }
    std::uint64_t count() const { return count_; }
    std::uint64_t ended() const { return ended_; }

    void add(std::shared_ptr<detail::ArgumentBlock> block) {
        if (!block || block->count() == 0) return;
        auto const count = block->count();
        bytes_ += block->bytes.size();
        blocks_.push_back({count_, 0, std::move(block)});
        count_ += count;
    }
    /// Arguments of tasks first .. first+count-1, in parts of memory that `keep` holds.
    struct Arguments {
        std::vector<std::span<std::byte const>> parts;
        std::size_t size = 0;
        std::vector<std::shared_ptr<void const>> keep;
    };
    Arguments arguments(std::uint64_t first, std::uint64_t count) const;
    /// These tasks have ended: frees blocks of which all tasks have.
    void ended(std::uint64_t first, std::uint64_t count);
    std::uint32_t bytes_each() const {
        return count_ == 0 ? 0
                           : static_cast<std::uint32_t>(
                                 std::min<std::uint64_t>(bytes_ / count_, UINT32_MAX));
    }

    /// Workers that have its function.
    std::vector<WorkerId> told;

private:
    struct Block {
        std::uint64_t first, ended;
        std::shared_ptr<detail::ArgumentBlock const> arguments;
    };
    std::deque<Block>::iterator block_of(std::uint64_t index);
    detail::JobSpec spec_;
    std::deque<Block> blocks_;
    std::uint64_t count_ = 0, ended_ = 0, bytes_ = 0;
};

}  // namespace sinew::pool
