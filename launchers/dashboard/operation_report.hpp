// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "launchers/dashboard/state.hpp"

namespace sinew::launch::dashboard {

/// What a rank tells of its collectives (src/comm/operation_reporter.hpp).
struct OperationReport {
    int rank = 0;
    Collective collective;
};

/// Whether a line is such a report rather than one of a pool.
bool is_operation_report(std::string_view line);
/// Throws UsageError, which says what is wrong.
OperationReport parse_operation_report(std::string_view line);

}  // namespace sinew::launch::dashboard
