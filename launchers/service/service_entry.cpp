// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/service_entry.hpp"

#include <algorithm>
#include <cctype>
#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/wire/hello.hpp"
#include "src/wire/socket/address.hpp"

namespace sinew::launch::service {

std::string service_name(std::string_view name) {
    constexpr std::size_t longest = 63;
    auto const allowed = [](unsigned char c) {
        return c < 0x80 && (std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.');
    };
    bool const begins = !name.empty() && static_cast<unsigned char>(name.front()) < 0x80 &&
                        std::isalpha(static_cast<unsigned char>(name.front())) != 0;
    if (!begins || name.size() > longest || !std::ranges::all_of(name, allowed))
        throw UsageError(text("the service name ", wire::printable(name.substr(0, longest)),
                              " (must be a letter, then up to 62 letters, digits, '-', '_', '.')"));
    std::string lower(name);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
}

void check_service_address(std::string_view address) {
    constexpr std::size_t longest = 255;
    bool const short_enough = address.size() <= longest;
    try {
        if (short_enough && wire::Address::parse(text("tcp:", address)).port != 0) return;
    } catch (UsageError const&) {
        // The message below says more.
    }
    throw UsageError(text("the address ", wire::printable(address.substr(0, longest)),
                          " of a service (must be HOST:PORT or [ADDRESS]:PORT)"));
}

}  // namespace sinew::launch::service
