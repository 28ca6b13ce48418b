// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/manager/auth_key.hpp>

#include "src/wire/tls/secret.hpp"

namespace sinew::process {

/// The secret that a key of any length stands for. It differs from the session's secret, and
/// neither can be computed from the other.
wire::Secret secret_of(AuthKey const& key);

}  // namespace sinew::process
