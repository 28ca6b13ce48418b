// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::detail {

/// What one rank did when, for a timeline. Thread-safe.
class TimelineRecorder {
public:
    /// Later events than this many are counted only.
    static constexpr std::size_t most = std::size_t{1} << 20;

    struct Event {
        std::int64_t begin, end;  ///< nanoseconds of the steady clock
        std::string track;  ///< a line of the picture: a communicator, or a part of the program
        std::string name;
    };

    /// Drops the event if there is no memory.
    void add(std::string_view track, std::string_view name, std::int64_t begin,
             std::int64_t end) noexcept;
    /// The events so far.
    std::vector<Event> events() const;
    std::size_t dropped() const;

private:
    mutable std::mutex mutex_;
    std::vector<Event> events_;
    std::size_t dropped_ = 0;
};

}  // namespace sinew::detail
