// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/peers/peer.hpp"

namespace sinew::bench {

/// The names of these peers for --peer.
inline constexpr char const* openmpi_forced = "openmpi_forced";
inline constexpr char const* openmpi_components = "openmpi_components";

/// Sets what Open MPI must find in its environment when it is initialized, if `peers` has one of
/// these. Open MPI's own choice stays as it is without them.
void prepare_openmpi(std::vector<std::string> const& peers);

/// Makes a peer of every algorithm of Open MPI's component coll/tuned, each on a duplicate of the
/// communicator that was made while the library was told to use it. Throws Unavailable if this
/// program is not built with Open MPI, or prepare_openmpi was not called.
std::unique_ptr<Peer> make_openmpi_forced(Communicator& comm, PeerNote const& note);

/// Makes a peer of Open MPI's other components for collectives (han, sm, adapt, xhc, acoll), each
/// on a duplicate of the communicator that prefers it. `note` receives those that are not there or
/// cannot serve these ranks. Throws Unavailable as above.
std::unique_ptr<Peer> make_openmpi_components(Communicator& comm, PeerNote const& note);

}  // namespace sinew::bench
