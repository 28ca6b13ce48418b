// SPDX-License-Identifier: Apache-2.0
#include "launchers/control/protocol.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "launchers/common/flat_json.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using Json = nlohmann::ordered_json;
using Verb = ControlRequest::Verb;
using AnswerKind = ControlAnswer::Kind;
using std::chrono::milliseconds;

constexpr std::array<char const*, 4> verbs{"status", "logs", "attach", "stop"};
constexpr std::int64_t longest_grace = 1000LL * 3600 * 24 * 365;
constexpr std::size_t longest_words = std::size_t{64} << 10;

std::string line_of(Json const& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::int64_t in_range(nlohmann::json const& json, char const* key, std::int64_t least,
                      std::int64_t most) {
    auto const& value = json.at(key);
    // A number beyond 63 bits would be read as a negative one.
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{1} << 62))
        throw UsageError(text(key, " (must be a whole number from ", least, " to ", most, ")"));
    auto const number = value.get<std::int64_t>();
    if (number < least || number > most)
        throw UsageError(
            text(key, " ", number, " (must be a whole number from ", least, " to ", most, ")"));
    return number;
}

std::string cut(std::string text) {
    if (text.size() > longest_words) text.resize(longest_words);
    return text;
}

void take_ranks(nlohmann::json const& json, ControlRequest& request) {
    auto const& list = json.at("ranks");
    if (!list.is_array()) throw UsageError("ranks (must be a list of numbers)");
    auto& ranks = request.ranks.emplace();
    for (auto const& each : list) {
        if (!each.is_number_integer() || each.get<std::int64_t>() < 0 ||
            each.get<std::int64_t>() >= most_ranks_of_job)
            throw UsageError(
                text("ranks (each must be a whole number from 0 to ", most_ranks_of_job - 1, ")"));
        ranks.insert(each.get<int>());
    }
}

}  // namespace

std::string to_line(ControlRequest const& request) {
    Json json{{"request", verbs.at(static_cast<std::size_t>(request.verb))}};
    if (request.ranks) json["ranks"] = *request.ranks;
    if (request.follow) json["follow"] = true;
    if (request.tail) json["tail"] = *request.tail;
    if (request.now) json["now"] = true;
    if (request.grace) json["grace_ms"] = request.grace->count();
    return line_of(json);
}

std::string status_line(JobSummary const& job) { return to_json(job) + "\n"; }
std::string skipped_line(std::uint64_t bytes) { return line_of({{"skipped", bytes}}); }
std::string logs_end_line() { return line_of({{"logs_end", true}}); }
std::string stopping_line(milliseconds grace) { return line_of({{"stopping", grace.count()}}); }
std::string ended_line(int exit_code, std::string const& cause) {
    return line_of({{"ended", exit_code}, {"cause", cause}});
}
std::string refused_line(std::string const& why) { return line_of({{"refused", why}}); }

ControlRequest parse_request(std::string_view line) {
    if (line.size() > longest_request)
        throw UsageError(
            text("a request of ", line.size(), " bytes (must be at most ", longest_request, ")"));
    try {
        auto const json = parse_flat_json(line);
        auto const name = json.at("request").get<std::string>();
        auto const at = std::find(verbs.begin(), verbs.end(), name);
        if (at == verbs.end())
            throw UsageError(
                text("request ", cut(name), " (must be status, logs, attach or stop)"));
        ControlRequest request;
        request.verb = static_cast<Verb>(at - verbs.begin());
        if (json.contains("ranks")) take_ranks(json, request);
        request.follow = json.value("follow", false);
        if (json.contains("tail"))
            request.tail = static_cast<int>(in_range(json, "tail", 0, 0x7fffffff));
        request.now = json.value("now", false);
        if (json.contains("grace_ms"))
            request.grace = milliseconds(in_range(json, "grace_ms", 0, longest_grace));
        return request;
    } catch (nlohmann::json::exception const& problem) {
        throw UsageError(text("not a valid request (", problem.what(), ")"));
    }
}

ControlAnswer parse_answer(std::string_view line) {
    ControlAnswer answer;
    if (parse_output_line(line, answer.record)) {
        answer.kind = AnswerKind::output;
        return answer;
    }
    try {
        auto const json = parse_flat_json(line);
        if (json.contains("per_rank")) {
            answer.kind = AnswerKind::status;
            answer.job = parse_job_summary(line);
        } else if (json.contains("skipped")) {
            answer.kind = AnswerKind::skipped;
            answer.bytes =
                static_cast<std::uint64_t>(in_range(json, "skipped", 0, std::int64_t{1} << 62));
        } else if (json.contains("logs_end")) {
            answer.kind = AnswerKind::logs_end;
        } else if (json.contains("stopping")) {
            answer.kind = AnswerKind::stopping;
            answer.grace = milliseconds(in_range(json, "stopping", 0, longest_grace));
        } else if (json.contains("ended")) {
            answer.kind = AnswerKind::ended;
            answer.exit_code = static_cast<int>(in_range(json, "ended", 0, 255));
            answer.text = cut(json.at("cause").get<std::string>());
        } else {
            answer.kind = AnswerKind::refused;
            answer.text = cut(json.at("refused").get<std::string>());
        }
        return answer;
    } catch (nlohmann::json::exception const& problem) {
        throw UsageError(text("not a valid answer of a job (", problem.what(),
                              "). Is its sinew of the same version?"));
    }
}

}  // namespace sinew::launch
