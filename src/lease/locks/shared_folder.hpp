// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::lease {

/// Opens a folder that all users of the host share, and creates it with mode 1777 if it is missing.
/// While the descriptor is open, systemd-tmpfiles does not clean the folder (a shared flock).
///
/// Refuses what another user could have put there to mislead this one: a symbolic link, and a
/// folder in which anybody may replace files. Throws SystemError; Unavailable if the folder is on a
/// network file system, whose locks would be those of several hosts.
int open_shared_folder(std::string const& path);

/// Opens the folder's file for reading and writing, and creates it with mode 0666 if it is missing.
/// Does not follow links, write or truncate. Throws SystemError naming `path`, and what to do.
int open_shared_file(int folder, std::string const& path);

}  // namespace sinew::lease
