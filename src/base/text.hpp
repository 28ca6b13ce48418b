// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>

namespace sinew {

/// Joins anything printable into a string: text("rank ", rank, " of ", size).
template <class... Parts>
std::string text(Parts const&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return std::move(out).str();
}

}  // namespace sinew
