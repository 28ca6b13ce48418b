// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/process/runtime.hpp"

namespace sinew::nodes {

/// The addresses of this host that others can dial, of one family: IPv4 if it has any. Throws
/// SystemError if there is none but loopback.
std::vector<std::string> outer_addresses();
/// Lets processes of the session on other hosts reach this one at `address` of this host.
void be_reachable(process::Runtime& runtime, std::string const& address);
/// Dials all addresses at once, since it is not known which of them this host can reach, and
/// returns the first link. Null: none answered in time; `problem` is one of the reasons. Requires:
/// guard not held.
std::unique_ptr<wire::Link> dial_any(process::Runtime& runtime,
                                     std::vector<std::string> const& addresses,
                                     wire::Credentials const& self,
                                     wire::LinkOptions const& options,
                                     wire::Clock::duration patience, std::string& problem);

}  // namespace sinew::nodes
