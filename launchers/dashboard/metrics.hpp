// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "launchers/dashboard/state.hpp"

namespace sinew::launch::dashboard {

/// The state as Prometheus reads it (text exposition format 0.0.4). docs/dashboard.md lists the
/// metrics. There is no series for each rank: a job may have a million.
std::string metrics_text(State::View const& view, Time now);

/// A label's value between its quotes.
std::string escape_label(std::string_view value);

}  // namespace sinew::launch::dashboard
