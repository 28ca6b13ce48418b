// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "launchers/control/job_summary.hpp"
#include "launchers/io/output_record.hpp"

// The messages between a verb (`sinew ps`, logs, attach, stop) and the job's `sinew run`, over the
// Unix socket control.sock in the job's folder: lines of JSON. A connection carries one request,
// and then its answers. Output is sent as `sinew run --output json` prints it.
namespace sinew::launch {

inline constexpr char control_socket_name[] = "control.sock";
/// Folders of jobs that can be asked are named so, and the job's name follows.
inline constexpr char job_folder_beginning[] = "job-";
inline constexpr std::size_t longest_request = std::size_t{64} << 10;
inline constexpr std::size_t longest_answer = std::size_t{32} << 20;

struct ControlRequest {
    enum class Verb : std::uint8_t { status, logs, attach, stop };
    Verb verb = Verb::status;
    // logs, attach:
    std::optional<std::set<int>> ranks;  ///< no value: all
    bool follow = false;                 ///< logs; attach always does
    std::optional<int> tail;
    // stop:
    bool now = false;
    std::optional<std::chrono::milliseconds> grace;
};

struct ControlAnswer {
    enum class Kind : std::uint8_t {
        status,    ///< job
        output,    ///< record
        skipped,   ///< bytes
        logs_end,  ///< nothing more is kept
        stopping,  ///< grace
        ended,     ///< exit_code, text: the job is over
        refused,   ///< text: why
    };
    Kind kind = Kind::refused;
    JobSummary job;
    OutputRecord record;
    std::uint64_t bytes = 0;
    std::chrono::milliseconds grace{};
    int exit_code = 0;
    std::string text;
};

/// Lines with their '\n'.
std::string to_line(ControlRequest const& request);
std::string status_line(JobSummary const& job);
std::string skipped_line(std::uint64_t bytes);
std::string logs_end_line();
std::string stopping_line(std::chrono::milliseconds grace);
std::string ended_line(int exit_code, std::string const& cause);
std::string refused_line(std::string const& why);

/// Parse a line, with or without its '\n'. Both throw UsageError, which says what is wrong.
ControlRequest parse_request(std::string_view line);
ControlAnswer parse_answer(std::string_view line);

}  // namespace sinew::launch
