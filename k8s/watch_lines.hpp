// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sinew::k8s {

/// Splits the stream of a watch into its events, one JSON object for each line.
class WatchLines {
public:
    struct Line {
        enum class Type { added, modified, deleted, bookmark, error };
        Type type;
        nlohmann::json const& object;
        std::size_t bytes;
    };

    static constexpr std::size_t longest = std::size_t(4) << 20;

    /// Takes the next bytes, and calls `take` for each complete line; false from it ends the reading.
    /// Returns what is wrong with the stream, or an empty string.
    std::string read(std::string_view bytes, std::function<bool(Line)> const& take);

private:
    std::string line(std::string_view text, std::function<bool(Line)> const& take,
                     bool& more) const;

    std::string partial_;
};

}  // namespace sinew::k8s
