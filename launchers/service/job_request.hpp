// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/service/resources.hpp"

namespace sinew::launch::service {

inline constexpr int most_priority = 1000;

/// A job as a client submits it.
struct JobRequest {
    std::string token;               ///< is_job_token(): a job that is sent twice is taken once
    std::string name;                ///< is_job_name()
    std::vector<std::string> words;  ///< flags of `sinew run`, the program and its arguments
    std::string command;             ///< the program and its arguments, for people
    std::map<std::string, std::string> env = {};  ///< added to the variables of the server
    std::string folder;  ///< where the client was started; it may be missing on the server
    std::string working_folder = {};  ///< --wdir, which must be there; empty: not given
    int ranks = 1;
    Resources needs = {};
    int priority = 0;  ///< the highest begins first
    std::optional<std::chrono::milliseconds> limit = {};
    std::chrono::milliseconds grace{5000};
    bool keep = false;  ///< goes on without its client
};

/// Whether it is 32 hexadecimal digits in lower case, which the client has chosen at random.
bool is_job_token(std::string_view token);

/// One line of JSON. Throws UsageError for texts that are not UTF-8.
std::string to_json(JobRequest const& request);
/// Throws UsageError, which names what is wrong.
JobRequest parse_job_request(std::string_view json);

}  // namespace sinew::launch::service
