// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew {

/// Reads the first line, with its newline if it has one, of a file that holds a secret.
///
/// Accepts a file of this user that nobody else may access (mode 0600 or less), and a file of a
/// volume that Kubernetes has mounted, as it is: of root or this user, and writable by no one else.
/// A folder is such a volume if it has the link `..data`, by which kubelet replaces all files at
/// once, and it is not writable by others either.
///
/// Throws SystemError if the file cannot be read, and UsageError if others might read or have
/// written it, or if the line is longer than 1 MiB. No error repeats what the file holds.
std::string read_secret_file(std::string const& path);

/// The same of a pipe, whose writer may keep it open: reads up to the end of a line, not of the
/// file. At most 1 MiB; without newline if the writer ended.
std::string read_secret_line(int fd);

/// Overwrites the text's bytes, and empties it.
void wipe(std::string& secret) noexcept;

}  // namespace sinew
