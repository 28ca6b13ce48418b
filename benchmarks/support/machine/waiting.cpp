// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/waiting.hpp"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "benchmarks/support/text.hpp"
#include "src/base/waiting/wake_up.hpp"

namespace sinew::bench {

namespace {

double wake_up_us() {
    auto const us = std::chrono::duration<double, std::micro>(wake_up().cost).count();
    return std::round(us * 10) / 10;
}

}  // namespace

std::string waiting_text() {
    return text("a wake-up costs ", wake_up_us(), " us here (", name_of(wake_up().source),
                "); waits ",
                may_spin() ? "look before they sleep"
                           : "do not look before they sleep (SINEW_SPIN=0, or one processor)");
}

nlohmann::json waiting_json() {
    return {{"wake_up_us", wake_up_us()},
            {"source", std::string(name_of(wake_up().source))},
            {"looks", may_spin()}};
}

}  // namespace sinew::bench
