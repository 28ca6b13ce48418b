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
    MpiPeer(std::string name, MPI_Comm comm, bool nonblocking)
        : name_(std::move(name)), comm_(comm), nonblocking_(nonblocking) {}

    std::vector<PeerCall> bind(Workload const& load) override {
        auto call = bind_mpi(comm_, load, nonblocking_);
        if (!call) return {};
        return {{name_, std::move(call)}};
    }

private:
    std::string name_;
    MPI_Comm comm_;
    bool nonblocking_;
};

}  // namespace

std::unique_ptr<Peer> make_mpi_peer(std::string const& name, Communicator& comm) {
    bool const nonblocking = name == mpi_nonblocking;
    if (!nonblocking && name != "mpi" && name != mpi_peer_name())
        throw Unavailable(text("--peer ", name, " (this program is built with ", mpi_version(),
                               ", and a process can hold one MPI). Build with -DSINEW_MPI=", name,
                               ", or let ./dev bench --peer ", name,
                               " launch both builds in turns"));
    return std::make_unique<MpiPeer>(nonblocking ? mpi_nonblocking : mpi_peer_name(),
                                     mpi::to_mpi(comm), nonblocking);
}

std::string mpi_version() { return MpiLibrary::version(); }

}  // namespace sinew::bench
