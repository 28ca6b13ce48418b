// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/job_request.hpp"

#include <sinew/error.hpp>

#include "launchers/common/flat_json.hpp"
#include "launchers/common/job_name.hpp"
#include "launchers/service/json_fields.hpp"

namespace sinew::launch::service {
namespace {

constexpr std::size_t longest_path = 4096, longest_name = 63, longest_token = 64,
                      longest_command_text = std::size_t{64} << 10;
constexpr std::size_t most_words = 100'000;
constexpr int most_of_a_kind = 1'000'000;
constexpr std::int64_t longest_time = std::int64_t{1000} * 3600 * 24 * 3650;  // ten years, in ms
constexpr std::int64_t no_limit = 0;

std::string absolute_field(Json const& json, char const* key) {
    auto path = text_field(json, key, longest_path);
    if (!path.empty() && path.front() != '/')
        throw UsageError(text(key, " is ", path, " (must be an absolute path)"));
    return path;
}

// Bytes that are no UTF-8 would become others on the way.
void require_utf8(std::string const& words, char const* what) {
    try {
        static_cast<void>(Json(words).dump());
    } catch (Json::exception const&) {
        throw UsageError(text(what,
                              " has bytes that are not UTF-8, which jobs of a service cannot "
                              "have. Use a script that is on the server"));
    }
}

}  // namespace

bool is_job_token(std::string_view token) {
    constexpr std::size_t length = 32;
    return token.size() == length && token.find_first_not_of("0123456789abcdef") == token.npos;
}

std::string to_json(JobRequest const& request) {
    for (auto const& word : request.words) require_utf8(word, "the command line");
    for (auto const& [name, value] : request.env)
        require_utf8(text(name, "=", value), "a variable of the job");
    require_utf8(request.folder + request.working_folder, "the path of the working directory");
    return one_line({{"token", request.token},
                     {"name", request.name},
                     {"words", request.words},
                     {"command", request.command},
                     {"env", request.env},
                     {"folder", request.folder},
                     {"working_folder", request.working_folder},
                     {"ranks", request.ranks},
                     {"gpus", request.needs.gpus},
                     {"cpus", request.needs.cpus},
                     {"memory", request.needs.memory},
                     {"priority", request.priority},
                     {"limit_ms", request.limit ? request.limit->count() : no_limit},
                     {"grace_ms", request.grace.count()},
                     {"keep", request.keep}});
}

JobRequest parse_job_request(std::string_view bytes) {
    try {
        auto const json = parse_flat_json(bytes);
        JobRequest request;
        request.token = text_field(json, "token", longest_token);
        if (!is_job_token(request.token))
            throw UsageError("token is not one (must be 32 hexadecimal digits)");
        request.name = text_field(json, "name", longest_name);
        if (!is_job_name(request.name))
            throw UsageError("name is not the name of a job (lower-case letters, digits and '-')");
        request.words = json.at("words").get<std::vector<std::string>>();
        if (request.words.empty() || request.words.size() > most_words)
            throw UsageError(text("words has ", request.words.size(), " entries (must be 1 to ",
                                  most_words, ")"));
        for (auto const& word : request.words)
            if (word.find('\0') != word.npos) throw UsageError("words has a NUL character");
        request.command = text_field(json, "command", longest_command_text);
        request.env = json.at("env").get<std::map<std::string, std::string>>();
        for (auto const& [name, value] : request.env)
            if (name.empty() || name.find('=') != name.npos || name.find('\0') != name.npos ||
                value.find('\0') != value.npos)
                throw UsageError("env has a variable that no process can have");
        request.folder = absolute_field(json, "folder");
        request.working_folder = absolute_field(json, "working_folder");
        request.ranks = static_cast<int>(number_field(json, "ranks", 1, most_of_a_kind));
        request.needs.gpus = static_cast<int>(number_field(json, "gpus", 0, most_of_a_kind));
        request.needs.cpus = static_cast<int>(number_field(json, "cpus", 0, most_of_a_kind));
        request.needs.memory =
            static_cast<std::uint64_t>(number_field(json, "memory", 0, INT64_MAX / 2));
        request.priority =
            static_cast<int>(number_field(json, "priority", -most_priority, most_priority));
        if (auto const limit = number_field(json, "limit_ms", 0, longest_time); limit != no_limit)
            request.limit = std::chrono::milliseconds(limit);
        request.grace = std::chrono::milliseconds(number_field(json, "grace_ms", 0, longest_time));
        request.keep = json.at("keep").get<bool>();
        return request;
    } catch (Json::exception const& problem) {
        throw UsageError(text("not a valid description of a job (", problem.what(),
                              "). Is its sinew of the same version?"));
    }
}

}  // namespace sinew::launch::service
