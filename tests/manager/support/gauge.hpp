// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <sinew/manager.hpp>
#include <sinew/manager/deferred.hpp>
#include <sinew/manager/this_manager.hpp>
#include <utility>
#include <vector>

namespace sinew::testing_support {

/// A level that callers wait for, kept after every call.
class Gauge {
public:
    static constexpr Checkpoints checkpoints{.every_calls = 1};
    Deferred<std::int64_t> reached(std::int64_t level) {
        if (level_ >= level) return level_;
        return waiting_.emplace_back(level, Promise<std::int64_t>()).second;
    }
    void rise(std::int64_t by);
    std::int64_t level() const { return level_; }
    std::size_t waiting() const { return waiting_.size(); }
    void calls_withdrawn();
    pid_t pid() const;

    std::int64_t save() const { return level_; }
    void restore(std::int64_t level) { level_ = level; }

private:
    std::int64_t level_ = 0;
    std::vector<std::pair<std::int64_t, Promise<std::int64_t>>> waiting_;
};

/// Makes gauges.
struct Gauges {
    Object<Gauge> add() { return this_manager::create<Gauge>(); }
};

}  // namespace sinew::testing_support
