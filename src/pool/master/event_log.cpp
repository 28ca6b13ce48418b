// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/event_log.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <iomanip>
#include <sinew/error.hpp>
#include <type_traits>

#include "src/base/system/io.hpp"
#include "src/base/text.hpp"

namespace sinew::pool {
namespace {

void put(std::ostream& out, std::string const& words) {
    out << '"';
    for (char const each : words) {
        auto const code = static_cast<unsigned char>(each);
        if (each == '"' || each == '\\') {
            out << '\\' << each;
        } else if (code < 0x20) {
            std::array<char, 8> escaped;
            std::snprintf(escaped.data(), escaped.size(), "\\u%04x", code);
            out << escaped.data();
        } else {
            out << each;
        }
    }
    out << '"';
}

}  // namespace

EventLog::EventLog(std::string const& path) {
    if (path.empty()) return;
    file_.open(path, std::ios::app);
    if (!file_)
        throw_errno(text(path, " cannot be written"), "Name another file for the pool's events");
}

void EventLog::write(std::string_view event, std::initializer_list<Field> fields) {
    if (!on()) return;
    std::chrono::duration<double> const now = std::chrono::system_clock::now().time_since_epoch();
    file_ << std::setprecision(16) << "{\"time\":" << now.count() << ",\"event\":\"" << event
          << '"';
    for (auto const& field : fields) {
        file_ << ",\"" << field.name << "\":";
        std::visit(
            [this](auto const& value) {
                if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
                    put(file_, value);
                else file_ << value;
            },
            field.value);
    }
    file_ << "}" << std::endl;
}

}  // namespace sinew::pool
