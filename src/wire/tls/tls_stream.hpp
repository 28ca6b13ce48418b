// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <memory>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/socket/stream.hpp"
#include "src/wire/tls/context.hpp"

namespace sinew::wire {

/// Throws std::bad_alloc.
std::unique_ptr<Stream> make_tls_stream(SSL_CTX* context, Role role, UniqueFd fd);

}  // namespace sinew::wire
