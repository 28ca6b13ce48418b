// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/claimed_name.hpp"

#include <sinew/error.hpp>
#include <utility>

#include "launchers/common/job_name.hpp"
#include "launchers/control/protocol.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

ClaimedName::ClaimedName(std::string const& wanted, std::string const& program, bool guarded) {
    constexpr int most_attempts = 10;  // names that are made differ by chance only
    for (int attempt = 0; attempt < (wanted.empty() ? most_attempts : 1) && !folder_; ++attempt) {
        name_ = wanted.empty() ? make_job_name(program) : wanted;
        auto claimed = JobFolder::claim(job_folder_beginning + name_);
        if (!claimed) continue;
        if (guarded) guard_.emplace(claimed->path());
        folder_.emplace(std::move(*claimed));
    }
    if (!folder_)
        throw UsageError(text("--name ", name_,
                              ": a job of that name runs on this host. Choose "
                              "another, or see sinew ps"));
}

}  // namespace sinew::launch
