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

/// Bytes to write to one target. `path` is used for `file` only, which is appended to.
struct OutputWrite {
    enum class Target : std::uint8_t { out, err, file };
    Target target;
    std::string path;
    std::string bytes;
};

/// Formats the ranks' output: plain (bytes unchanged), tagged and dated, as JSON lines, and in a
/// file for each rank and stream. Pure: the caller passes the time and performs the writes.
///
/// Tagged lines never mix: if another rank writes in the middle of a line, that line is ended, and
/// its rest is later tagged `[3]<stdout>+: `.
///
/// JSON: one object per line of output, with rank, node, stream, time, and text without its '\n'.
/// `"partial": true` means no '\n' yet, `"continues": true` that the line began in an earlier
/// object. A line that is not UTF-8 has U+FFFD in `text` and its original, in base64, in `bytes`.
class OutputPrinter {
public:
    using Time = std::chrono::system_clock::time_point;
    struct Options {
        bool tag = false;
        bool timestamp = false;
        bool json = false;
        std::string folder = {};  ///< for folder/rank.3.stdout; empty: no files
        bool screen = true;       ///< false: only the files
        /// Both streams of `sinew run` end in one place, for example a terminal: lines of one do
        /// not mix with lines of the other either.
        bool one_place = false;
    };

    explicit OutputPrinter(Options options) : options_(std::move(options)) {}
    void print(int rank, std::string_view node, OutputStream stream,
               LineAssembler::Piece const& piece, Time when);
    /// Ends the line that is open at the destination of `stream`, so that the launcher's own
    /// message there begins a new one. The other stream is left alone unless both end in one place.
    void end_line(OutputStream stream);
    /// Returns the writes due since the last call, in order.
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
    std::optional<Speaker> open_[2];  ///< the writer of the unfinished line, by stream
    std::string date_;                ///< formatted `dated_`; made once per second
    std::time_t dated_ = -1;
};

}  // namespace sinew::launch
