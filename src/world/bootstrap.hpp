// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <sinew/transport.hpp>

namespace sinew {

/// One way for a process to find the other ranks.
struct Bootstrap {
    std::string_view name;
    std::unique_ptr<Transport> transport;  ///< over all ranks
    Threading threading = Threading::any;
    std::function<void()> leave = [] {};  ///< after a life without failures; collective
};

/// The first that finds something: MPI (initialised by the application, or a launcher's variables in
/// the environment), else alone. Throws Unavailable when a launcher of several ranks is there, but
/// not the library to answer it.
Bootstrap find_bootstrap(int argc, char** argv);

Bootstrap alone_bootstrap();
/// Built with MPI only.
Bootstrap mpi_bootstrap(int argc, char** argv);

}  // namespace sinew
