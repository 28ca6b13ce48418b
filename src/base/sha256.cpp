// SPDX-License-Identifier: Apache-2.0
#include "src/base/sha256.hpp"

#include <openssl/evp.h>

#include <sinew/error.hpp>

namespace sinew {
namespace {

void require(bool done) {
    if (!done)
        throw Unavailable(
            "OpenSSL does not provide SHA-256 here (is it disabled in its configuration?)");
}

}  // namespace

struct Sha256::Context {
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> evp{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
    require(context_->evp && EVP_DigestInit_ex(context_->evp.get(), EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::add(void const* bytes, std::size_t size) {
    require(EVP_DigestUpdate(context_->evp.get(), bytes, size) == 1);
}

Sha256::Digest Sha256::digest() {
    Digest digest{};
    auto* const bytes = reinterpret_cast<unsigned char*>(digest.data());
    require(EVP_DigestFinal_ex(context_->evp.get(), bytes, nullptr) == 1);
    return digest;
}

}  // namespace sinew
