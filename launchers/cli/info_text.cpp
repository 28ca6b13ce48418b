// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "launchers/cli/info_sections.hpp"

namespace sinew::launch {

namespace {

std::string cell(Section const& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    if (value.is_null()) return "-";
    if (!value.is_array()) return value.dump();
    std::string list;
    for (auto const& element : value) list += (list.empty() ? "" : ", ") + cell(element);
    return list;
}

using Row = std::vector<std::string>;

/// Pads each column to its widest cell, with two spaces between columns and none at line ends.
std::string aligned(std::vector<Row> const& rows) {
    std::vector<std::size_t> widths;
    for (auto const& row : rows)
        for (std::size_t column = 0; column < row.size(); ++column) {
            if (widths.size() <= column) widths.push_back(0);
            widths[column] = std::max(widths[column], row[column].size());
        }
    std::string text;
    for (auto const& row : rows) {
        std::string line = "  ";
        for (std::size_t column = 0; column < row.size(); ++column)
            line += row[column] + std::string(widths[column] - row[column].size() + 2, ' ');
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

/// A value in the first column is left blank if it equals the one above.
std::vector<Row> table(Section const& section) {
    std::vector<Row> rows;
    std::string above;
    for (auto const& entry : section) {
        Row names, values;
        for (auto const& [name, value] : entry.items()) {
            names.push_back(name);
            values.push_back(cell(value));
        }
        if (values.empty()) continue;
        if (rows.empty()) rows.push_back(names);
        if (std::string first = values.front(); first == above) values.front().clear();
        else above = std::move(first);
        rows.push_back(std::move(values));
    }
    return rows;
}

}  // namespace

std::string as_text(Section const& report) {
    std::string text;
    for (auto const& [title, section] : report.items()) {
        if (section.empty()) continue;
        text += (text.empty() ? "" : "\n") + title + '\n';
        std::vector<Row> rows;
        if (section.is_array()) rows = table(section);
        else
            for (auto const& [name, value] : section.items()) rows.push_back({name, cell(value)});
        text += aligned(rows);
    }
    return text;
}

}  // namespace sinew::launch
