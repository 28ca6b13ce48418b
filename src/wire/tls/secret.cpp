// SPDX-License-Identifier: Apache-2.0
#include "src/wire/tls/secret.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>
#include <sinew/error.hpp>

#include "src/base/hex.hpp"
#include "src/base/system/io.hpp"
#include "src/base/text.hpp"

namespace sinew::wire {
namespace {

/// The value of a hexadecimal digit, or -1.
int digit(char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
    return -1;
}

}  // namespace

Secret Secret::random() {
    Secret secret;
    std::size_t have = 0;
    while (have < secret.bytes_.size()) {
        ssize_t const got =
            ::getrandom(secret.bytes_.data() + have, secret.bytes_.size() - have, 0);
        if (got < 0 && errno != EINTR)
            throw_errno("a secret cannot be created", "Does a filter of system calls forbid it?");
        if (got > 0) have += static_cast<std::size_t>(got);
    }
    return secret;
}

Secret Secret::from_hex(std::string_view digits) {
    Secret secret;
    bool valid = digits.size() == 2 * secret.bytes_.size();
    for (std::size_t i = 0; valid && i < secret.bytes_.size(); ++i) {
        int const high = digit(digits[2 * i]), low = digit(digits[2 * i + 1]);
        valid = high >= 0 && low >= 0;
        secret.bytes_[i] = static_cast<std::byte>(high * 16 + low);
    }
    // The message does not contain the text: most of a mistyped secret is correct.
    if (!valid) {
        throw UsageError(text("a secret of ", digits.size(),
                              " characters that cannot be read (must be 64 hexadecimal digits). "
                              "Was it cut, or mixed with something else?"));
    }
    return secret;
}

Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

std::string Secret::hex() const { return to_hex(bytes_); }

Secret Secret::derive(std::string_view label) const {
    Secret derived;
    unsigned length = 0;
    auto const* const made =
        ::HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()),
               reinterpret_cast<unsigned char const*>(label.data()), label.size(),
               reinterpret_cast<unsigned char*>(derived.bytes_.data()), &length);
    if (made == nullptr || length != derived.bytes_.size())
        throw Unavailable(
            "OpenSSL cannot compute HMAC-SHA-256 here. Is its configuration damaged?");
    return derived;
}

}  // namespace sinew::wire
