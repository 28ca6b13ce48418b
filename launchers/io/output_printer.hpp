// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/io/lines.hpp"

namespace sinew::launch {

enum class OutputStream : std::uint8_t { out = 1, err = 2 };

/// What to write where. `path` is only for `file`, to be appended to.
struct OutputWrite {
    enum class Target : std::uint8_t { out, err, file };
    Target target;
    std::string path;
    std::string bytes;
};

/// Makes what ranks say into what is shown: plain (bytes unchanged), tagged and dated, JSON lines,
/// and a file for each rank and stream. Pure: the caller brings the time and writes the result.
///
/// Tagged lines never mix: when another rank speaks in the middle of a line, that line is ended
/// here, and what comes of it later is tagged `[3]<stdout>+: ` to say that it continues.
///
/// JSON: one object per line of output, with rank, node, stream, time and text, without its '\n'.
/// `"partial": true` says that there was none yet, `"continues": true` that it began before. Bytes
/// that are not UTF-8 stand as U+FFFD in the text, and as they were, in base64, in `bytes`.
class OutputPrinter {
public:
    using Time = std::chrono::system_clock::time_point;
    struct Options {
        bool tag = false;
        bool timestamp = false;
        bool json = false;
        std::string folder = {};  ///< for folder/rank.3.stdout; empty: no files
        bool screen = true;       ///< false: only the files
        /// Both streams of `sinew run` end in one place, a terminal say: lines of the one do not
        /// mix with those of the other either.
        bool one_place = false;
    };

    explicit OutputPrinter(Options options) : options_(std::move(options)) {}
    void print(int rank, std::string_view node, OutputStream stream,
               LineAssembler::Piece const& piece, Time when);
    /// Ends the line that was left open where `stream` goes, so that what we say there ourselves
    /// begins a new one. The other stream's bytes stay as they are, unless both end in one place.
    void end_line(OutputStream stream);
    /// What is to be written since the last call, in order.
    std::vector<OutputWrite> take();

private:
    struct Speaker {
        int rank;
        OutputStream stream;
        friend bool operator==(Speaker const&, Speaker const&) = default;
    };

    std::string& buffer(OutputWrite::Target target, std::string const& path = {});
    std::optional<Speaker>& open_line(OutputStream stream);
    void print_tagged(Speaker speaker, LineAssembler::Piece const& piece, Time when);
    void print_json(Speaker speaker, std::string_view node, LineAssembler::Piece const& piece,
                    Time when);
    std::string const& date(Time when);

    Options options_;
    std::vector<OutputWrite> writes_;
    std::optional<Speaker> open_[2];  ///< who has begun a line that is not ended, on our streams
    std::string date_;                ///< of `dated_`: made once for each second
    std::time_t dated_ = -1;
};

}  // namespace sinew::launch
