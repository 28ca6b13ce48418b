// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::launch {

/// Copies this command into the folder, with its loader and all libraries it needs (see
/// copy_layout.hpp): FOLDER/bin/sinew then runs wherever the folder is moved or mounted, also beside
/// another C library or none. libpmix is among them if it is installed. An earlier copy is replaced,
/// file by file, while what runs from it continues. Returns a sentence that says what was copied.
///
/// Throws UsageError if the folder holds anything else, and SystemError, for example if its file
/// system is full.
std::string copy_command_to(std::string const& folder);

}  // namespace sinew::launch
