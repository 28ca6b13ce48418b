// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/summary/summary_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

std::string summary_line(Summary const& summary) {
    constexpr std::size_t longest = 4096;
    auto cause = summary.cause;
    for (;;) {
        nlohmann::ordered_json const all{
            {"exit_code", summary.exit_code}, {"cause", cause}, {"restarts", summary.restarts}};
        auto line = all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
        if (line.size() <= longest) return line;
        // A byte takes at most six when it is escaped: one cut may not be enough, but none is too much.
        cause.resize(cause.size() - std::min(cause.size(), (line.size() - longest + 5) / 6 + 3));
        cause += "...";
    }
}

void write_summary(std::string const& path, Summary const& summary) noexcept {
    try {
        std::ofstream file(path, std::ios::trunc);
        file << summary_line(summary) << std::flush;
        if (!file)
            log_warning(text("the job's summary cannot be written to ", path, " (",
                             std::strerror(errno), ")"));
    } catch (std::exception const& problem) {
        log_warning(problem.what());
    }
}

}  // namespace sinew::launch
