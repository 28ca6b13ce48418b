// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// A file or folder of this host that containers see.
struct BindMount {
    std::string source, target;  ///< absolute paths
    bool read_only = false;
    friend bool operator==(BindMount const&, BindMount const&) = default;
};

/// Parses SOURCE, SOURCE:TARGET or SOURCE:TARGET:ro (or :rw); an empty target is the source. Throws
/// UsageError if the paths are not absolute, about `what`.
BindMount parse_bind_mount(std::string const& words, std::string const& what);

/// Whether containers see this folder of this host, by the same path.
bool is_seen(std::string const& folder, std::vector<BindMount> const& mounts);

}  // namespace sinew::launch
