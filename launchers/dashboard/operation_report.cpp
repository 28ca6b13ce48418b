// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/operation_report.hpp"

#include <sinew/error.hpp>

#include "launchers/common/flat_json.hpp"
#include "launchers/io/output_record.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::dashboard {
namespace {

constexpr std::size_t longest_line = 4096, longest_text = 512;

std::string text_in(nlohmann::json const& object, char const* key) {
    auto words = object.at(key).get<std::string>();
    if (words.size() > longest_text) words.resize(longest_text);
    return words;
}

}  // namespace

bool is_operation_report(std::string_view line) { return line.starts_with("{\"operation\":"); }

OperationReport parse_operation_report(std::string_view line) {
    auto const refuse = [](std::string const& why) {
        throw UsageError(text("not a report of a rank (", why, ")"));
    };
    if (line.size() > longest_line) refuse(text(line.size(), " bytes"));
    try {
        auto const object = parse_flat_json(line);
        auto const& rank = object.at("rank");
        auto const& number = object.at("number");
        if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= most_ranks_of_job)
            refuse("its rank");
        if (!number.is_number_unsigned()) refuse("its number");
        return {.rank = rank.get<int>(),
                .collective = {.operation = text_in(object, "operation"),
                               .communicator = text_in(object, "communicator"),
                               .number = number.get<std::uint64_t>(),
                               .inside = object.at("inside").get<bool>()}};
    } catch (nlohmann::json::exception const& problem) {
        refuse(problem.what());
    }
    return {};
}

}  // namespace sinew::launch::dashboard
