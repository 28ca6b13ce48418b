// SPDX-License-Identifier: Apache-2.0
#include "launchers/io/output_printer.hpp"

#include <nlohmann/json.hpp>

#include "launchers/common/encoding.hpp"
#include "launchers/common/timestamp.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

using Target = OutputWrite::Target;

char const* name(OutputStream stream) { return stream == OutputStream::out ? "stdout" : "stderr"; }

/// Calls `with` for each line, the last of which may lack its '\n'.
template <class With>
void each_line(std::string_view bytes, With with) {
    while (!bytes.empty()) {
        auto const end = bytes.find('\n');
        auto const line = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
        bytes.remove_prefix(line.size());
        with(line);
    }
}

}  // namespace

// Consecutive output for one target is merged into one write.
std::string& OutputPrinter::buffer(Target target, std::string const& path) {
    if (writes_.empty() || writes_.back().target != target || writes_.back().path != path)
        writes_.push_back({target, path, {}});
    return writes_.back().bytes;
}

std::optional<OutputPrinter::Speaker>& OutputPrinter::open_line(OutputStream stream) {
    return open_[options_.one_place || stream == OutputStream::out ? 0 : 1];
}

std::vector<OutputWrite> OutputPrinter::take() { return std::exchange(writes_, {}); }

void OutputPrinter::print(int rank, std::string_view node, OutputStream stream,
                          LineAssembler::Piece const& piece, Time when) {
    if (piece.bytes.empty()) return;
    if (!options_.folder.empty())
        buffer(Target::file, text(options_.folder, "/rank.", rank, ".", name(stream))) +=
            piece.bytes;
    if (!options_.screen) return;
    Speaker const speaker{rank, stream};
    if (options_.json) {
        print_json(speaker, node, piece, when);
    } else if (options_.tag || options_.timestamp) {
        print_tagged(speaker, piece, when);
    } else {
        buffer(stream == OutputStream::out ? Target::out : Target::err) += piece.bytes;
        open_line(stream) = piece.ends_line ? std::nullopt : std::optional(speaker);
    }
}

void OutputPrinter::print_tagged(Speaker speaker, LineAssembler::Piece const& piece, Time when) {
    auto& out = buffer(speaker.stream == OutputStream::out ? Target::out : Target::err);
    auto& open = open_line(speaker.stream);
    bool const goes_on = open == speaker && !piece.starts_line;
    if (open && !goes_on) out += '\n';
    open.reset();
    std::string tag = options_.timestamp ? date(when) + ' ' : "";
    if (options_.tag) tag += text('[', speaker.rank, "]<", name(speaker.stream), '>');
    bool first = true;
    each_line(piece.bytes, [&](std::string_view line) {
        if (!first || !goes_on) {
            out += tag;
            if (first && !piece.starts_line) out += '+';
            if (options_.tag) out += ": ";
            else if (first && !piece.starts_line) out += ' ';
        }
        out += line;
        first = false;
    });
    if (!piece.ends_line) open = speaker;
}

void OutputPrinter::print_json(Speaker speaker, std::string_view node,
                               LineAssembler::Piece const& piece, Time when) {
    auto& out = buffer(Target::out);
    bool continues = !piece.starts_line;
    each_line(piece.bytes, [&](std::string_view line) {
        bool const partial = line.back() != '\n';
        if (!partial) line.remove_suffix(1);
        nlohmann::ordered_json object{{"rank", speaker.rank},
                                      {"node", std::string(node)},
                                      {"stream", name(speaker.stream)},
                                      {"time", date(when)},
                                      {"text", std::string(line)}};
        if (partial) object["partial"] = true;
        if (continues) object["continues"] = true;
        if (!is_utf8(line)) object["bytes"] = base64(line);
        continues = false;
        out += object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        out += '\n';
    });
}

void OutputPrinter::end_line(OutputStream stream) {
    if (auto const speaker = std::exchange(open_line(stream), std::nullopt))
        buffer(speaker->stream == OutputStream::out ? Target::out : Target::err) += '\n';
}

// Formats as RFC 3339 in UTC, with milliseconds.
std::string const& OutputPrinter::date(Time when) {
    using namespace std::chrono;
    auto const since = floor<milliseconds>(when.time_since_epoch());
    auto const second = floor<seconds>(since);
    if (auto const now = static_cast<std::time_t>(second.count()); now != dated_) {
        date_ = timestamp(when);
        dated_ = now;
    }
    auto const part = static_cast<int>((since - second).count());
    auto const at = date_.size() - 4;
    date_[at] = static_cast<char>('0' + part / 100);
    date_[at + 1] = static_cast<char>('0' + part / 10 % 10);
    date_[at + 2] = static_cast<char>('0' + part % 10);
    return date_;
}

}  // namespace sinew::launch
