// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// `sinew container SPEC`: makes and starts a container (ContainerSpec, as JSON), passes its standard
/// input and output on, and returns its exit code when it has ended and been removed. At SIGTERM the
/// container gets SIGTERM, and SIGKILL 3 s later. So it is for a container what ssh is for a host.
int container_main(std::vector<std::string> const& arguments);

}  // namespace sinew::launch
