// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/log_lines.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace sinew::launch::kubernetes {
namespace {

// A line of output is at most 64 KiB, and 6 bytes of JSON may stand for one.
constexpr std::size_t longest_line = std::size_t{1} << 20;

// The time before the first blank, with all nine digits of its fraction, so that times can be
// compared as texts. Nothing if there is none: "2026-01-02T03:04:05.678Z", or with "+01:00" for "Z".
std::optional<std::string> time_of(std::string_view line) {
    constexpr std::string_view form = "0000-00-00T00:00:00";
    auto const word = line.substr(0, line.find(' '));
    if (word.size() <= form.size()) return std::nullopt;
    for (std::size_t i = 0; i < form.size(); ++i) {
        bool const digit = std::isdigit(static_cast<unsigned char>(word[i])) != 0;
        if (form[i] == '0' ? !digit : word[i] != form[i]) return std::nullopt;
    }
    auto const zone = word.find_first_of("Z+-", form.size());
    if (zone == word.npos) return std::nullopt;
    std::string fraction(word.substr(form.size(), zone - form.size()));
    if (fraction.empty()) fraction = ".";
    fraction.resize(10, '0');
    return std::string(word.substr(0, form.size())) + fraction + std::string(word.substr(zone));
}

}  // namespace

void LogLines::add(std::string_view data) {
    while (!data.empty()) {
        auto const end = data.find('\n');
        if (end == data.npos) {
            if (partial_.size() + data.size() <= longest_line) partial_ += data;
            return;
        }
        partial_ += data.substr(0, end);
        data.remove_prefix(end + 1);
        on_line(std::exchange(partial_, {}));
    }
}

void LogLines::end() {
    if (!partial_.empty()) on_line(std::exchange(partial_, {}));
}

void LogLines::reopen() {
    partial_.clear();
    repeats_ = !last_time_.empty();
    to_skip_ = with_last_time_;
}

// The server looks for seconds, so that lines before since() come again, too; and the first of them
// may be the rest of a longer one, which has no time.
void LogLines::on_line(std::string_view line) {
    auto const time = time_of(line);
    if (repeats_) {
        if (!time || *time < last_time_) return;
        if (*time == last_time_ && to_skip_ > 0) {
            --to_skip_;
            return;
        }
        repeats_ = false;
    }
    if (!time) return line_(line);
    with_last_time_ = *time == last_time_ ? with_last_time_ + 1 : 1;
    last_time_ = *time;
    auto const blank = std::min(line.find(' '), line.size());
    line_(line.substr(std::min(blank + 1, line.size())));
}

}  // namespace sinew::launch::kubernetes
