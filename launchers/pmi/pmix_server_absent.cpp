// SPDX-License-Identifier: Apache-2.0
// Replaces pmix_server.cpp if PMIx's headers were not found at build time.
#include <sinew/error.hpp>

#include "launchers/pmi/pmix_server.hpp"

namespace sinew::launch {
namespace {
constexpr char reason[] =
    "PMIx is not built in (its headers were not found when sinew was built). Debian: apt-get "
    "install libpmix-dev, then build again; programs of MPICH and of sinew need no PMIx";
}

void PmixServer::prepare_environment(Options const&) {}

void PmixServer::prepare(Options const&) { throw Unavailable(reason); }

std::unique_ptr<PmixServer> PmixServer::start(Options const&, Upcalls) {
    throw Unavailable(reason);
}

void PmixServer::end_library() {}

std::string PmixServer::describe(bool& usable) {
    usable = false;
    return reason;
}

}  // namespace sinew::launch
