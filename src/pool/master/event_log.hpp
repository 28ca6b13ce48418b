// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace sinew::pool {

/// Writes a JSON object per line and event: {"time": seconds since the epoch, "event":
/// "worker_died", ...}.
class EventLog {
public:
    struct Field {
        char const* name;
        std::variant<std::uint64_t, double, std::string> value;
    };
    /// Appends to this file; an empty path: writes nothing. Throws SystemError.
    explicit EventLog(std::string const& path);
    bool on() const { return file_.is_open(); }
    void write(std::string_view event, std::initializer_list<Field> fields);

private:
    std::ofstream file_;
};

}  // namespace sinew::pool
