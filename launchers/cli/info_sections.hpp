// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "launchers/map/machine.hpp"

namespace sinew::launch {

// The parts of `sinew info`. Each is an object (names and values) or an array of objects with the
// same names (a table), so that text and JSON are the same facts.
using Section = nlohmann::ordered_json;

Section build_section();
Section host_section(Processors const& machine);
/// GPUs and network cards, as the operating system tells hwloc. Empty without hwloc.
Section devices_section();
/// Where the ranks go when each core has one: neighbours in the ring share as much as they can.
Section ring_section(Processors const& machine);
Section interfaces_section();
Section algorithms_section();
Section transports_section();
Section limits_section();
/// What a wait costs here: measured, where nobody has lately, in some milliseconds. Throws as wake_up.
Section waiting_section();

/// All sections as aligned text: "name  value" lines, or tables with their names on top.
std::string as_text(Section const& report);

}  // namespace sinew::launch
