// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::launch {

/// What a program that waits for a job wants to know about its end.
struct Summary {
    int exit_code = 0;
    std::string cause;  ///< the first cause, for people; empty: the job succeeded
    int restarts = 0;
};

/// The summary as one line of JSON of at most 4096 bytes, which is what Kubernetes keeps of a
/// termination message: {"exit_code": 3, "cause": "...", "restarts": 1}. A longer cause is cut.
std::string summary_line(Summary const& summary);

/// Replaces what the file holds by the summary. Logs a failure: a job does not fail by it.
void write_summary(std::string const& path, Summary const& summary) noexcept;

}  // namespace sinew::launch
