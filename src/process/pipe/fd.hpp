// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/base/system/unique_fd.hpp"

namespace sinew::process {

/// Sends a descriptor through a Unix socket. Returns false if the socket does not take it.
bool send_fd(int socket, int fd);
/// Receives a descriptor, with the socket's own timeout; closed on exec. Empty if none came.
UniqueFd receive_fd(int socket);

}  // namespace sinew::process
