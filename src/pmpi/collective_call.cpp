// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/collective_call.hpp"

#include <array>
#include <string_view>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::pmpi {

int fail(MpiFunction function, MPI_Comm comm, CommRoute& route, std::exception const& error) {
    route.lost = true;
    comm = route.reachable(comm);
    std::array<char, MPI_MAX_OBJECT_NAME + 1> name{};
    int length = 0;
    real().Comm_get_name(comm, name.data(), &length);
    std::string_view const known = length > 0 ? name.data() : "a communicator without a name";
    log_warning(text("rank ", route.job->rank(), ": ", name_of(function), " on ", known, ": ",
                     error.what()));
    real().Comm_call_errhandler(comm, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

}  // namespace sinew::pmpi
