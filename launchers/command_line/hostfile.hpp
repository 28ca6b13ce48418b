// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launchers/common/job.hpp"

namespace sinew::launch {

/// Hosts of a hostfile, a line each, in both dialects:
///   node1 slots=4 max_slots=8     # Open MPI; max-slots, too
///   node1:4                       # MPICH
///   user@node2                    # no number: as many slots as it has cores
///   [fe80::1]:2                   # IPv6
/// Nothing is merged here: requested_nodes adds up the slots of a host that is named again.
/// Throws UsageError naming `name` and the line.
std::vector<HostRequest> parse_hostfile(std::string_view text, std::string const& name);
/// parse_hostfile of a file. Throws UsageError when it cannot be read or names no host.
std::vector<HostRequest> read_hostfile(std::string const& path);

/// Hosts become arguments of ssh and words of a --launch-agent command: no blanks, no quotes, no
/// leading dash that would make an option of them. Throws UsageError naming `origin`.
void check_host(std::string_view host, std::string const& origin);

/// "a:4,b,[::1]:2", of -H. A host without a number counts one slot, unless `bare_slots` says 0:
/// not said. "a:*" is not said. Throws UsageError naming `origin`.
std::vector<HostRequest> parse_host_list(std::string_view list, std::string const& origin,
                                         int bare_slots = 1);

/// Those of the hostfile that -H names, in the order of -H: with the slots of -H where it has a
/// number, else with the hostfile's; as the user of -H where it has one. Throws UsageError naming a
/// host that is not in the file, or more slots than it allows.
std::vector<HostRequest> select_hosts(std::vector<HostRequest> const& file,
                                      std::vector<HostRequest> const& wanted,
                                      std::string const& origin);

}  // namespace sinew::launch
