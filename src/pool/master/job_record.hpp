// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <sinew/detail/pool_job.hpp>
#include <sinew/remote_error.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/pool/scheduler/actions.hpp"
#include "src/pool/scheduler/events.hpp"

namespace sinew::pool {

/// The content of a message with results.
struct ArrivedResults {
    std::vector<std::pair<std::uint64_t, ErrorRecord>> errors;  ///< by index in the job
    Reader values;                                              ///< of the other tasks, in order
};

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
    /// Whether and when a task that threw is to be executed again, by TaskOptions::retry_on.
    Thrown thrown(std::uint32_t offset, ErrorRecord const& error) const;
    // These tasks have ended. Their arguments are freed, by blocks.
    /// Gives the sink the results that arrived.
    void accept(std::uint64_t first, std::uint64_t count, ArrivedResults& arrived);
    /// `arrived`: where the error is, if the task threw.
    void fail(Fail const& action, ArrivedResults const* arrived);
    /// `broken`: why the pool cannot continue; empty: the job was cancelled.
    void drop(std::uint64_t first, std::uint64_t count, std::string const& broken);
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
    void ended(std::uint64_t first, std::uint64_t count);
    std::exception_ptr error_of(Fail const& action, ArrivedResults const* arrived) const;
    detail::JobSpec spec_;
    std::deque<Block> blocks_;
    std::uint64_t count_ = 0, ended_ = 0, bytes_ = 0;
};

}  // namespace sinew::pool
