// SPDX-License-Identifier: Apache-2.0
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <sinew/error.hpp>
#include <string_view>
#include <utility>

#include "src/base/text.hpp"
#include "src/wire/tls/context.hpp"
#include "src/wire/tls/tls_stream.hpp"

namespace sinew::wire {
namespace {

// Names the key in the ClientHello; the same for all jobs, since it is sent in the clear.
constexpr std::string_view key_name = "sinew wire 1";
constexpr unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};

void require(bool done, char const* what) {
    if (done) return;
    char reason[256] = "no reason given";
    if (auto const code = ERR_get_error(); code != 0)
        ERR_error_string_n(code, reason, sizeof reason);
    ERR_clear_error();
    throw Unavailable(text("TLS 1.3 with pre-shared keys is not available here (", what, ": ",
                           reason, "). Does openssl.cnf forbid it?"));
}

// Returns the key in the form that OpenSSL requires, an artificial session; null if out of memory.
SSL_SESSION* make_session(SSL* ssl, Secret const& key) {
    SSL_CIPHER const* const cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
    SSL_SESSION* const session = SSL_SESSION_new();
    auto const bytes = key.bytes();
    if (cipher != nullptr && session != nullptr &&
        SSL_SESSION_set1_master_key(session, reinterpret_cast<unsigned char const*>(bytes.data()),
                                    bytes.size()) == 1 &&
        SSL_SESSION_set_cipher(session, cipher) == 1 &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
        return session;
    SSL_SESSION_free(session);
    return nullptr;
}

// Returns the ex_data index of the key in an SSL_CTX, which frees it. The key lives as long as the
// last stream, which may outlive the TlsContext.
int key_slot() {
    static int const slot = SSL_CTX_get_ex_new_index(
        0, nullptr, nullptr, nullptr, [](void*, void* key, CRYPTO_EX_DATA*, int, long, void*) {
            delete static_cast<Secret const*>(key);
        });
    return slot;
}

Secret const& key_of(SSL* ssl) {
    return *static_cast<Secret const*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), key_slot()));
}

int use_session(SSL* ssl, EVP_MD const* digest, unsigned char const** name, std::size_t* size,
                SSL_SESSION** session) {
    *session = nullptr;
    // A second ClientHello may require another digest, for which there is no key.
    if (digest != nullptr && EVP_MD_get_type(digest) != NID_sha256) return 1;
    *name = reinterpret_cast<unsigned char const*>(key_name.data());
    *size = key_name.size();
    *session = make_session(ssl, key_of(ssl));
    return *session != nullptr ? 1 : 0;
}

int find_session(SSL* ssl, unsigned char const* name, std::size_t size, SSL_SESSION** session) {
    *session = nullptr;
    if (std::string_view(reinterpret_cast<char const*>(name), size) != key_name) return 1;
    *session = make_session(ssl, key_of(ssl));
    return *session != nullptr ? 1 : 0;
}

}  // namespace

struct TlsContext::State {
    SSL_CTX* context = nullptr;
    Role role = Role::dialler;
    ~State() { SSL_CTX_free(context); }
};

TlsContext::TlsContext(Role role, Secret const& secret) : state_(std::make_unique<State>()) {
    SSL_CTX* const context = SSL_CTX_new(TLS_method());
    state_->context = context;
    state_->role = role;
    require(context != nullptr, "SSL_CTX_new");
    auto key = std::make_unique<Secret const>(secret.derive("sinew wire psk 1"));
    require(SSL_CTX_set_ex_data(context, key_slot(), const_cast<Secret*>(key.get())) == 1,
            "SSL_CTX_set_ex_data");
    (void)key.release();
    require(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1, "TLS 1.3");
    require(SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1, "TLS 1.3");
    require(SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1, "AES-128-GCM");
    require(SSL_CTX_set_num_tickets(context, 0) == 1, "no tickets");
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (role == Role::dialler) {
        SSL_CTX_set_psk_use_session_callback(context, use_session);
        // Rejects every certificate, which a server without the key may present.
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    } else {
        SSL_CTX_set_psk_find_session_callback(context, find_session);
    }
}

TlsContext::~TlsContext() = default;

std::unique_ptr<Stream> TlsContext::make_stream(UniqueFd fd) const {
    return make_tls_stream(state_->context, state_->role, std::move(fd));
}

}  // namespace sinew::wire
