// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sinew::wire {

/// The 256 bits that the members of a job share. The destructor overwrites them. Pass it by
/// inherited descriptors and files of mode 0600; never in arguments, environments or logs.
class Secret {
public:
    /// From the kernel's generator.
    static Secret random();
    /// From 64 hexadecimal digits. Throws UsageError, which does not repeat them.
    static Secret from_hex(std::string_view digits);

    Secret(Secret const&) = default;
    Secret& operator=(Secret const&) = default;
    ~Secret();

    std::string hex() const;
    /// HMAC-SHA-256 of `label` under this secret: a key for one purpose ("wire psk", "data plane
    /// 3"), from which this one cannot be computed.
    Secret derive(std::string_view label) const;
    std::span<std::byte const, 32> bytes() const { return bytes_; }

private:
    Secret() = default;
    std::array<std::byte, 32> bytes_{};
};

}  // namespace sinew::wire
