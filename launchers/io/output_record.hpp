// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "launchers/io/output_printer.hpp"

namespace sinew::launch {

/// No job has more.
inline constexpr int most_ranks_of_job = 1'000'000;

/// A piece of output of one rank: a line, several, or a part of one.
struct OutputRecord {
    int rank = 0;
    std::string node;
    OutputStream stream = OutputStream::out;
    OutputPrinter::Time time{};
    std::string bytes;
    bool starts_line = true;

    LineAssembler::Piece piece() const {
        return {.bytes = bytes,
                .starts_line = starts_line,
                .ends_line = !bytes.empty() && bytes.back() == '\n'};
    }
};

/// Whether a line of JSON is one that OutputPrinter writes (`sinew run --output json`) rather than
/// another (the table of how ranks ended) or no JSON at all. Parses it into `record` if so.
bool parse_output_line(std::string_view line, OutputRecord& record);

}  // namespace sinew::launch
