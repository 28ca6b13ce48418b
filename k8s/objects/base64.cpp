// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/base64.hpp"

#include <openssl/evp.h>

#include <algorithm>

namespace sinew::k8s {

std::string to_base64(std::string_view bytes) {
    std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
    auto const length =
        ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                          reinterpret_cast<unsigned char const*>(bytes.data()), int(bytes.size()));
    out.resize(std::size_t(length));
    return out;
}

std::optional<std::string> from_base64(std::string_view text) {
    std::string digits;
    for (char const c : text)
        if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) digits += c;
    auto const padding = std::size_t(std::count(digits.begin(), digits.end(), '='));
    if (digits.size() % 4 != 0 || padding > 2 ||
        digits.find('=') < digits.size() - padding)  // elsewhere than at the end
        return std::nullopt;
    std::string out(digits.size() / 4 * 3, '\0');
    auto const length = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                          reinterpret_cast<unsigned char const*>(digits.data()),
                                          int(digits.size()));
    if (length < 0) return std::nullopt;
    out.resize(std::size_t(length) - padding);
    return out;
}

}  // namespace sinew::k8s
