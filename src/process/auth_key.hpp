// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/auth_key.hpp>

#include "src/wire/tls/secret.hpp"

namespace sinew::process {

/// The key's, whatever its length: not the session's, and neither can be found from the other.
wire::Secret secret_of(AuthKey const& key);

}  // namespace sinew::process
