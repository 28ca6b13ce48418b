// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sinew::launch::kubernetes {

/// What `kubectl port-forward` prints when it listens: "Forwarding from 127.0.0.1:37713 -> 6006",
/// "Forwarding from [::1]:37713 -> 6006".
struct ForwardingLine {
    std::string address;  ///< of this host, without brackets
    std::uint16_t local = 0, remote = 0;
};
/// No value: another line.
std::optional<ForwardingLine> parse_forwarding_line(std::string_view line);

/// The reasons in kubectl's standard error, in one printable line of at most 2000 bytes, without the
/// heads of its log lines; empty if there are none.
std::string kubectl_reason(std::string_view errors);

/// The right that is missing, if that is the reason: "create pods/portforward".
std::optional<std::string> missing_right(std::string_view reason);

}  // namespace sinew::launch::kubernetes
