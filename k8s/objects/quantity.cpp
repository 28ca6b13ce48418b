// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/quantity.hpp"

#include <array>
#include <limits>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::int64_t nanos_per_one = 1'000'000'000;
constexpr Wide most = Wide(std::numeric_limits<std::int64_t>::max()) * nanos_per_one;

[[noreturn]] void refuse(std::string_view text_in, std::string_view what, char const* why) {
    throw UsageError(text(what, " is \"", text_in.substr(0, 64), "\", ", why,
                          ". Kubernetes writes quantities as 2, 500m, 1.5Gi, 64Mi, 1e3"));
}

struct Suffix {
    std::string_view text;
    int binary;   // power of 1024, if above 0
    int decimal;  // power of 10
};
constexpr std::array<Suffix, 15> suffixes{{{"", 0, 0},
                                           {"n", 0, -9},
                                           {"u", 0, -6},
                                           {"m", 0, -3},
                                           {"k", 0, 3},
                                           {"M", 0, 6},
                                           {"G", 0, 9},
                                           {"T", 0, 12},
                                           {"P", 0, 15},
                                           {"E", 0, 18},
                                           {"Ki", 1, 0},
                                           {"Mi", 2, 0},
                                           {"Gi", 3, 0},
                                           {"Ti", 4, 0},
                                           {"Pi", 5, 0}}};
constexpr Suffix exbi{"Ei", 6, 0};

// "e3", "E-2"
bool exponent(std::string_view text, int& power) {
    if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return false;
    text.remove_prefix(1);
    bool const negative = text[0] == '-';
    if (text[0] == '-' || text[0] == '+') text.remove_prefix(1);
    if (text.empty() || text.size() > 3) return false;
    int found = 0;
    for (char const c : text) {
        if (c < '0' || c > '9') return false;
        found = 10 * found + (c - '0');
    }
    power = negative ? -found : found;
    return true;
}

}  // namespace

Quantity Quantity::parse(std::string_view text, std::string_view what) {
    auto rest = text;
    if (rest.starts_with('-')) refuse(text, what, "which is below 0");
    if (rest.starts_with('+')) rest.remove_prefix(1);
    // Digits as a whole number times 10^power.
    Wide digits = 0;
    int power = 0;
    std::size_t count = 0;
    bool point = false;
    for (; !rest.empty(); rest.remove_prefix(1)) {
        char const c = rest.front();
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9') break;
        ++count;
        if (point && power <= -18) {  // finer than can matter: rounded up
            if (c != '0' && power == -18) digits += 1, --power;
            continue;
        }
        if (digits > most) refuse(text, what, "which is too large");
        digits = 10 * digits + Wide(c - '0');
        if (point) --power;
    }
    if (count == 0) refuse(text, what, "which is no quantity");
    if (power < -18) power = -18;
    int binary = 0;
    Suffix const* suffix = rest == exbi.text ? &exbi : nullptr;
    for (auto const& candidate : suffixes)
        if (rest == candidate.text) suffix = &candidate;
    int ten = 0;
    if (suffix) {
        binary = suffix->binary;
        power += suffix->decimal;
    } else if (exponent(rest, ten)) {
        power += ten;
    } else {
        refuse(text, what, "which is no quantity");
    }
    power += 9;  // of nanos
    for (; binary > 0; --binary) {
        if (digits > (Wide(1) << 117)) refuse(text, what, "which is too large");
        digits *= 1024;
    }
    for (; power > 0 && digits > 0; --power) {
        if (digits > most) refuse(text, what, "which is too large");
        digits *= 10;
    }
    for (; power < 0 && digits > 0; ++power) digits = digits / 10 + (digits % 10 != 0 ? 1 : 0);
    if (digits > most) refuse(text, what, "which is too large");
    return Quantity(std::int64_t(digits / nanos_per_one), std::int32_t(digits % nanos_per_one));
}

std::int64_t Quantity::value() const {
    return whole_ + (nanos_ > 0 && whole_ < std::numeric_limits<std::int64_t>::max() ? 1 : 0);
}

std::int64_t Quantity::milli_value() const {
    auto const last = std::numeric_limits<std::int64_t>::max();
    if (whole_ > last / 1000 - 1) return last;
    return whole_ * 1000 + (nanos_ + 999'999) / 1'000'000;
}

std::string Quantity::text() const {
    if (nanos_ > 0) {
        Wide const nanos = Wide(whole_) * nanos_per_one + Wide(nanos_);
        for (auto const& [suffix, step] : {std::pair("m", 1'000'000), {"u", 1000}, {"n", 1}})
            if (nanos % Wide(step) == 0) {
                auto units = nanos / Wide(step);
                std::string out;
                for (; units > 0; units /= 10) out.insert(out.begin(), char('0' + int(units % 10)));
                return out + suffix;
            }
    }
    constexpr std::array<char const*, 7> binary{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    auto value = whole_;
    std::size_t power = 0;
    while (value != 0 && value % 1024 == 0 && power < 6) {
        value /= 1024;
        ++power;
    }
    return std::to_string(value) + binary[power];
}

}  // namespace sinew::k8s
