// SPDX-License-Identifier: Apache-2.0
#include "src/comm/black_box/timeline_recorder.hpp"

#include <new>

namespace sinew::detail {

void TimelineRecorder::add(std::string_view track, std::string_view name, std::int64_t begin,
                           std::int64_t end) noexcept {
    std::unique_lock const lock(mutex_);
    try {
        if (events_.size() < most) {
            events_.push_back({begin, end, std::string(track), std::string(name)});
            return;
        }
    } catch (std::bad_alloc const&) {
        // Counted below.
    }
    ++dropped_;
}

std::vector<TimelineRecorder::Event> TimelineRecorder::events() const {
    std::unique_lock const lock(mutex_);
    return events_;
}

std::size_t TimelineRecorder::dropped() const {
    std::unique_lock const lock(mutex_);
    return dropped_;
}

}  // namespace sinew::detail
