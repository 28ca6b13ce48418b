// SPDX-License-Identifier: Apache-2.0
#include "src/manager/restart/restart_policy.hpp"

#include <algorithm>

#include "src/base/text.hpp"

namespace sinew::manager {
namespace {

constexpr std::chrono::milliseconds first_pause(100), longest_pause(5000);

}  // namespace

void RestartPolicy::alive() {
    if (state_ != State::starting) return;
    state_ = State::alive;
    stillborn_ = 0;
}

std::optional<std::chrono::milliseconds> RestartPolicy::died(std::string const& how) {
    if (state_ == State::lost) return std::nullopt;
    bool const lived = state_ == State::alive;
    if (incarnation_ == most_restarts_) {
        auto const times = incarnation_ == 1 ? "1 restart" : text(incarnation_, " restarts");
        end(text(how, ", after ", times, ", as many as ManagerOptions::max_restarts allows"));
        return std::nullopt;
    }
    ++incarnation_;
    state_ = State::starting;
    if (lived) return std::chrono::milliseconds(0);
    auto const doublings = std::min(stillborn_++, 10U);
    return std::min(first_pause * (1 << doublings), longest_pause);
}

void RestartPolicy::end(std::string const& why) {
    if (state_ == State::lost) return;
    state_ = State::lost;
    end_text_ = why;
}

}  // namespace sinew::manager
