// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>

#include <cstddef>

namespace sinew::launch {

/// The capacity of a pipe in bytes; 0 if `fd` is not a pipe.
inline std::size_t pipe_size(int fd) {
    int const size = fd < 0 ? -1 : ::fcntl(fd, F_GETPIPE_SZ);
    return size < 0 ? 0 : static_cast<std::size_t>(size);
}

}  // namespace sinew::launch
