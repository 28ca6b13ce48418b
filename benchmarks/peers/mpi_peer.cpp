// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/peers/mpi_peer.hpp"

#include <mpi.h>

#include <sinew/error.hpp>
#include <sinew/mpi.hpp>

#include "benchmarks/peers/mpi_call.hpp"
#include "benchmarks/support/text.hpp"
#include "src/transport/mpi_library.hpp"

namespace sinew::bench {

namespace {

class MpiPeer final : public Peer {
public:
    MpiPeer(std::string name, MPI_Comm comm) : name_(std::move(name)), comm_(comm) {}

    std::vector<PeerCall> bind(Workload const& load) override {
        auto call = bind_mpi(comm_, load);
        if (!call) return {};
        return {{name_, std::move(call)}};
    }

private:
    std::string name_;
    MPI_Comm comm_;
};

}  // namespace

std::unique_ptr<Peer> make_mpi_peer(std::string const& name, Communicator& comm) {
    if (name != "mpi" && name != mpi_peer_name())
        throw Unavailable(text("--peer ", name, " (this program is built with ", mpi_version(),
                               ", and a process can hold one MPI). Build with -DSINEW_MPI=", name,
                               ", or let ./dev bench --peer ", name,
                               " launch both builds in turns"));
    return std::make_unique<MpiPeer>(mpi_peer_name(), mpi::to_mpi(comm));
}

std::string mpi_version() { return MpiLibrary::version(); }

}  // namespace sinew::bench
