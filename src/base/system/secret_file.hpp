// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew {

/// Reads a file that contains a secret, up to the end of its first line. It must be readable by this
/// user alone (mode 0600), or lie in a volume that the kubelet has mounted into this container (the
/// folder has the link `..data`): then it must be owned by root or this user, and writable by
/// nobody else. Throws SystemError; UsageError if others may have written or read it.
std::string read_secret_file(std::string const& path);

/// Reads up to the end of a line, not of the file: the writer may keep a pipe open. At most 1 MiB;
/// does not read beyond the line of a pipe unless the writer wrote more at once.
std::string read_line(int fd);

}  // namespace sinew
