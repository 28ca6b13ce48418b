// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/restart_budget.hpp"

#include <algorithm>

#include "src/base/text.hpp"

namespace sinew::launch {

std::optional<std::string> RestartBudget::take(Why why) {
    std::string kind;
    if (why == Why::planned) {
        kind = "planned, ";
    } else if (why == Why::disruption && disruptions_ < most_disruptions) {
        kind = text("disruption ", ++disruptions_, " of at most ", most_disruptions, ", ");
    } else {
        if (failures_ >= max_) return std::nullopt;
        ++failures_;
    }
    ++restarts_;
    return text("restart ", restarts_, " (", kind, failures_, " of ", max_, " of the budget used)");
}

bool RestartBudget::take_early_loss() {
    if (disruptions_ >= most_disruptions) return false;
    ++disruptions_;
    return true;
}

void RestartBudget::continue_from(JobProgress const& past) {
    restarts_ = std::max(restarts_, past.restarts + 1);
    failures_ = std::max(failures_, past.failures);
    disruptions_ = std::max(disruptions_, past.disruptions + 1);
}

JobProgress RestartBudget::progress(std::uint32_t next_epoch) const {
    return {.epochs = next_epoch,
            .restarts = restarts_,
            .failures = failures_,
            .disruptions = disruptions_};
}

}  // namespace sinew::launch
