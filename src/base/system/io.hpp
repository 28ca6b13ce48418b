// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/system/unique_fd.hpp"

namespace sinew {

/// Throws a SystemError: "`what` (Permission denied). `remedy`".
[[noreturn]] void throw_errno(std::string const& what, std::string_view remedy = {},
                              int error = errno);

/// Writes all bytes, also if signals interrupt it. Returns false, with errno, at an error.
bool write_all(int fd, std::span<std::byte const> bytes);

/// Reads until `into` is full or the file ends. Returns the number of bytes, or -1 with errno.
ssize_t read_all(int fd, std::span<std::byte> into);

/// Two connected Unix stream sockets, closed on exec. Both are empty, with errno, at an error.
std::pair<UniqueFd, UniqueFd> socket_pair();

}  // namespace sinew
