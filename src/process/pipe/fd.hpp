// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/base/system/unique_fd.hpp"

namespace sinew::process {

/// A descriptor through a Unix socket; false: the socket does not take it.
bool send_fd(int socket, int fd);
/// Waits as long as the socket does; empty: none came. Closed on exec.
UniqueFd receive_fd(int socket);

}  // namespace sinew::process
