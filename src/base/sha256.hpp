// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>

namespace sinew {

/// SHA-256, fed piece by piece. Its functions throw Unavailable where OpenSSL has none.
class Sha256 {
public:
    using Digest = std::array<std::byte, 32>;

    Sha256();
    Sha256(Sha256 const&) = delete;
    ~Sha256();
    void add(void const* bytes, std::size_t size);
    /// Once, at the end.
    Digest digest();

private:
    struct Context;
    std::unique_ptr<Context> context_;
};

}  // namespace sinew
