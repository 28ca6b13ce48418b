// SPDX-License-Identifier: Apache-2.0
#include "launchers/common/job_timing.hpp"

#include <iomanip>
#include <sstream>

namespace sinew::launch {

std::string JobTiming::text() const {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    std::ostringstream out;
    out << std::fixed << std::setprecision(1);
    auto before = start_;
    for (auto const& [what, when] : marks_) {
        out << (before == start_ ? "" : ", ") << what << " " << Milliseconds(when - start_).count()
            << " ms (+" << Milliseconds(when - before).count() << ")";
        before = when;
    }
    return std::move(out).str();
}

}  // namespace sinew::launch
