// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sinew::k8s {

/// A resource.Quantity: "2", "100m", "1.5Gi", "1e3".
class Quantity {
public:
    /// `what` is for messages: "--cpu". Throws UsageError: no quantity, or one below 0 or that does not fit.
    static Quantity parse(std::string_view text, std::string_view what);
    static Quantity of(std::int64_t value) { return Quantity(value, 0); }

    /// Rounded up, as the scheduler does.
    std::int64_t value() const;
    std::int64_t milli_value() const;
    /// In the fewest characters, with a binary suffix where that is exact: "1536Mi", "100m".
    std::string text() const;

    bool operator==(Quantity const&) const = default;
    auto operator<=>(Quantity const&) const = default;

private:
    Quantity(std::int64_t whole, std::int32_t nanos) : whole_(whole), nanos_(nanos) {}

    std::int64_t whole_;
    std::int32_t nanos_;  ///< 0 to 999999999
};

}  // namespace sinew::k8s
