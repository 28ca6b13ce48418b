// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// "NAME=value" words that spare Open MPI's ranks to look for hardware this node does not have; empty
/// where they might change a choice. Of 250 ms of MPI_Init on two ranks, 200 are the waits of two
/// libraries (psm, psm2) for devices of Omni-Path and TrueScale networks to appear. Where there is no
/// RDMA network, one-sided communication is given the component that needs none.
///
/// `root` is where the file systems are, "" but in tests; `home` the user's.
std::vector<std::string> open_mpi_shortcuts(std::string const& root, std::string const& home);

}  // namespace sinew::launch
