// SPDX-License-Identifier: Apache-2.0
// Runs `sinew VERB ...` as a user does.
#pragma once

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/launchers/run/launched.hpp"

namespace sinew::testing_support {

inline Launched::Setting as_command() {
    Launched::Setting setting;
    setting.command = {std::getenv("SINEW_TEST_COMMAND")};
    return setting;
}

inline Ended verb(Words const& words) { return run(words, as_command(), Seconds(30)); }

/// The job of that name in `sinew ps --json`; null: none.
inline nlohmann::json job_named(std::string const& name) {
    auto const list = nlohmann::json::parse(verb({"ps", "--json"}).out);
    for (auto const& job : list)
        if (job.at("name") == name) return job;
    return nullptr;
}

inline bool has_state(std::string const& name, std::string const& state) {
    return eventually(
        [&] {
            auto const job = job_named(name);
            return !job.is_null() && job.at("state") == state &&
                   job.at("ranks") == job.at("ranks_running");
        },
        Seconds(20));
}

}  // namespace sinew::testing_support
