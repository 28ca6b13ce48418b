// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// "NAME=value" words that keep Open MPI's ranks from looking for hardware that this node lacks;
/// empty where they might change a choice. Of 250 ms of MPI_Init on two ranks, 200 are spent by two
/// libraries (psm, psm2) waiting for devices of Omni-Path and TrueScale networks. Without an RDMA
/// network, one-sided communication gets the component that needs none.
///
/// `root` is the prefix of file system paths, "" except in tests; `home` is the user's home folder.
std::vector<std::string> open_mpi_shortcuts(std::string const& root, std::string const& home);

}  // namespace sinew::launch
