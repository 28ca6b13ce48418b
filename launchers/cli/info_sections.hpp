// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "launchers/map/machine.hpp"

namespace sinew::launch {

// The sections of `sinew info`. Each is an object (names and values) or an array of objects with
// the same names (a table), so that text and JSON show the same facts.
using Section = nlohmann::ordered_json;

Section build_section();
Section host_section(Processors const& machine);
/// The GPUs and network cards that hwloc finds. Empty without hwloc.
Section devices_section();
/// The CUDA driver and NCCL, or why they cannot be used. Loads both.
Section gpu_section();
/// The placement with one rank per core: neighbors in the ring share as much as they can.
Section ring_section(Processors const& machine);
Section interfaces_section();
Section algorithms_section();
Section transports_section();
Section limits_section();
/// The cost of a wait on this machine. Measuring takes some milliseconds, unless a stored result
/// exists. Throws as wake_up.
Section waiting_section();

/// Formats all sections as aligned text: "name value" lines, or tables with a header row.
std::string as_text(Section const& report);

}  // namespace sinew::launch
