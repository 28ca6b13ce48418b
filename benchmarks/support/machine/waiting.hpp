// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sinew::bench {

/// What waits of ours cost on this machine, and whether they look before they sleep, beside which
/// figures of short answers are to be read: "a wake-up costs 21.5 us here (measured earlier); waits look
/// before they sleep".
std::string waiting_text();
/// {"wake_up_us", "source", "looks"}
nlohmann::json waiting_json();

}  // namespace sinew::bench
