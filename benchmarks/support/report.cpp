// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/report.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <nlohmann/json.hpp>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

std::string short_number(double value) {
    struct Scale {
        double least, unit;
        char const* suffix;
    };
    constexpr std::array<Scale, 3> scales{{{1e6, 1e6, "M"}, {1e4, 1e3, "k"}, {0, 1, ""}}};
    for (auto const& [least, unit, suffix] : scales) {
        if (value < least) continue;
        double const shown = value / unit;
        int const decimals = shown >= 100 ? 0 : shown >= 10 ? 1 : shown >= 1 ? 2 : 3;
        std::array<char, 32> words{};
        std::snprintf(words.data(), words.size(), "%.*f%s", decimals, shown, suffix);
        return words.data();
    }
    return text(value);
}

void print_header(std::ostream& out) {
    out << std::left << std::setw(16) << "case" << std::right << std::setw(7) << "workers"
        << std::setw(9) << "ours"
        << "  " << std::left << std::setw(9) << "unit" << std::setw(17) << "beside" << std::right
        << std::setw(8) << "theirs" << std::setw(9) << "ratio"
        << "  goal" << std::endl;
}

void print(std::ostream& out, CaseRow const& row) {
    out << std::left << std::setw(16) << row.what.name << std::right << std::setw(7) << row.workers
        << std::setw(9) << short_number(row.value) << "  " << std::left << std::setw(9)
        << row.what.unit;
    bool first = true;
    for (auto const& [rival, value, ratio, goal] : row.beside) {
        if (!first) out << std::string(43, ' ');
        first = false;
        out << std::left << std::setw(17) << rival << std::right << std::setw(8)
            << short_number(value) << std::setw(9) << short_number(ratio);
        if (goal > 0) out << "  >= " << short_number(goal) << (ratio >= goal ? " met" : " MISSED");
        out << '\n';
    }
    if (first) out << '\n';
    if (row.max)
        out << std::string(16, ' ') << "max " << short_number(*row.max) << ' ' << row.what.unit
            << (row.note.empty() ? "" : " of ") << row.note << '\n';
    else if (!row.note.empty()) out << std::string(16, ' ') << row.note << '\n';
    out << std::flush;
}

std::string json_line(CaseRow const& row) {
    nlohmann::json peers = nlohmann::json::object();
    for (auto const& each : row.beside) {
        auto& peer = peers[each.rival];
        peer = {{"value", each.value}, {"ratio", each.ratio}};
        if (each.goal > 0) peer.update({{"goal", each.goal}, {"met", each.met()}});
    }
    nlohmann::json line{{"case", row.what.name},
                        {"workers", row.workers},
                        {"value", row.value},
                        {"unit", row.what.unit},
                        {"peers", std::move(peers)}};
    if (row.max) line["max"] = *row.max;
    if (!row.note.empty()) line["note"] = row.note;
    return line.dump();
}

}  // namespace sinew::bench
