// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <vector>

#include "launchers/blackbox/divergence.hpp"

namespace sinew::launch {

/// Whether the ranks of any communicator differ in what they called or how far they came.
bool has_divergence(std::vector<CommunicatorFindings> const& findings);

/// For people: one paragraph for each communicator, the one that diverged first at the top.
void write_text(std::vector<BlackBoxFile> const& files,
                std::vector<CommunicatorFindings> const& findings, std::ostream& out);
void write_json(std::vector<BlackBoxFile> const& files,
                std::vector<CommunicatorFindings> const& findings, std::ostream& out);

}  // namespace sinew::launch
