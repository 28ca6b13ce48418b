// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>

namespace sinew {

/// Computes a SHA-256 digest of data added piece by piece. All functions throw Unavailable if
/// OpenSSL does not provide SHA-256.
class Sha256 {
public:
    using Digest = std::array<std::byte, 32>;

    Sha256();
    Sha256(Sha256 const&) = delete;
    ~Sha256();
    void add(void const* bytes, std::size_t size);
    /// Returns the digest. Call it once, after all data was added.
    Digest digest();

private:
    struct Context;
    std::unique_ptr<Context> context_;
};

}  // namespace sinew
