// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "src/wire/tls/secret.hpp"

namespace sinew::launch::service {

/// The key by which clients and servers know each other, from a file of this user alone (mode 0600).
/// Throws UsageError for a file that others may read, and for a key that is malformed or not random.
wire::Secret read_key(std::string const& path);
/// Creates the file with a new key. Throws UsageError if it exists.
void create_key(std::string const& path);
/// `given`, or the file in the user's configuration folder (~/.config/sinew/key).
std::string key_path(std::string const& given);
/// The folder of sinew's configuration: $XDG_CONFIG_HOME/sinew or ~/.config/sinew. Throws UsageError
/// if there is no home folder.
std::string configuration_folder();

}  // namespace sinew::launch::service
