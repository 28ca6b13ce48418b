// SPDX-License-Identifier: Apache-2.0
#include "launchers/io/output_record.hpp"

#include <nlohmann/json.hpp>

#include "launchers/common/encoding.hpp"
#include "launchers/common/flat_json.hpp"
#include "launchers/common/timestamp.hpp"

namespace sinew::launch {

bool parse_output_line(std::string_view line, OutputRecord& record) {
    if (!line.starts_with('{')) return false;
    try {
        auto const json = parse_flat_json(line);
        auto const rank = json.at("rank").get<std::int64_t>();
        auto const stream = json.at("stream").get<std::string>();
        auto const time = parse_timestamp(json.at("time").get<std::string>());
        if (rank < 0 || rank >= most_ranks_of_job || !time) return false;
        if (stream != "stdout" && stream != "stderr") return false;
        OutputRecord found{.rank = static_cast<int>(rank),
                           .node = json.at("node").get<std::string>(),
                           .stream = stream == "stdout" ? OutputStream::out : OutputStream::err,
                           .time = *time,
                           .bytes = json.at("text").get<std::string>(),
                           .starts_line = !json.value("continues", false)};
        if (json.contains("bytes")) {
            auto bytes = from_base64(json.at("bytes").get<std::string>());
            if (!bytes) return false;
            found.bytes = std::move(*bytes);
        }
        if (!json.value("partial", false)) found.bytes += '\n';
        record = std::move(found);
        return true;
    } catch (nlohmann::json::exception const&) {
        return false;
    } catch (UsageError const&) {
        return false;
    }
}

}  // namespace sinew::launch
