// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sinew::bench {

/// Describes the cost of sinew's waits on this machine and whether they poll before they sleep,
/// which short latencies depend on: "a wake-up costs 21.5 us here (measured earlier); waits look
/// before they sleep".
std::string waiting_text();
/// Returns {"wake_up_us", "source", "looks"}.
nlohmann::json waiting_json();

}  // namespace sinew::bench
