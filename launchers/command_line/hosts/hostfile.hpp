// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launchers/common/job.hpp"

namespace sinew::launch {

/// Parses a hostfile with one host per line, in both dialects:
///   node1 slots=4 max_slots=8     # Open MPI; also max-slots
///   node1:4                       # MPICH
///   user@node2                    # no number: as many slots as it has cores
///   [fe80::1]:2                   # IPv6
/// Repeated hosts are not merged; requested_nodes adds up their slots. Throws UsageError, with
/// `name` and the line.
std::vector<HostRequest> parse_hostfile(std::string_view text, std::string const& name);
/// Parses a hostfile. Throws UsageError if the file cannot be read or names no host.
std::vector<HostRequest> read_hostfile(std::string const& path);

/// Hosts become arguments of ssh and words of a --launch-agent command. They must not contain
/// blanks or quotes, nor begin with a dash, which would make them options. Throws UsageError.
void check_host(std::string_view host, std::string const& origin);

/// Parses the list of -H: "a:4,b,[::1]:2". A host without a number has `bare_slots` slots; 0 means
/// unspecified, as does "a:*". Throws UsageError with `origin`.
std::vector<HostRequest> parse_host_list(std::string_view list, std::string const& origin,
                                         int bare_slots = 1);

/// Selects the hosts of the hostfile that -H names, in the order of -H. A number of slots or a user
/// given by -H replaces that of the file. Throws UsageError with a host that is not in the file, or
/// if -H asks for more slots than the file allows.
std::vector<HostRequest> select_hosts(std::vector<HostRequest> const& file,
                                      std::vector<HostRequest> const& wanted,
                                      std::string const& origin);

}  // namespace sinew::launch
