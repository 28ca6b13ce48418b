// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "src/base/system/unique_fd.hpp"

namespace sinew::detail {

/// Tells the job's dashboard (`sinew run --dashboard`), twice a second, in which collective this rank
/// is, or was last: it looks at the logs that the black box has anyway, so that calls cost nothing.
class OperationReporter {
public:
    /// Null without SINEW_DASHBOARD_SOCKET, in a process that is not this rank of the job, or if
    /// nothing can be reached there, which is logged.
    static std::unique_ptr<OperationReporter> make(int rank);

    OperationReporter(UniqueFd socket, int rank);
    OperationReporter(OperationReporter const&) = delete;
    ~OperationReporter();

private:
    void run();
    void report();

    UniqueFd const socket_;
    int const rank_;
    std::string sent_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ending_ = false;
    std::thread thread_;  ///< begins when all else is there
};

/// The line about a rank: what launchers/dashboard/operation_report.hpp parses. The texts have
/// letters, digits and punctuation other than '"' and '\'.
std::string operation_line(int rank, std::string const& communicator, std::uint64_t number,
                           bool inside, std::string const& operation);

}  // namespace sinew::detail
