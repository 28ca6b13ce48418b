// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <string>
#include <vector>

#include <sinew/error.hpp>

#include "src/base/env.hpp"
#include "src/base/text.hpp"
#include "src/transport/mpi_environment.hpp"
#include "src/transport/socket_transport.hpp"
#include "src/wire/socket/sockets.hpp"
#include "src/world/bootstrap.hpp"
#include "src/world/node_identity.hpp"
#include "src/world/socket_mesh.hpp"
#if SINEW_HAVE_MPI
#include "src/transport/mpi_library.hpp"
#endif

namespace sinew {

namespace {

constexpr char const* leave_it = "). Leave the SINEW_* variables to sinew run";

int number(char const* name, int low, int high) {
    std::string const value = env(name).value_or("");
    int result = 0;
    auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size() || result < low || result > high)
        throw UsageError(
            text(name, '=', value, " (must be a number from ", low, " to ", high, leave_it));
    return result;
}

struct Place {
    int size = number("SINEW_SIZE", 1, 1 << 24);
    int rank = number("SINEW_RANK", 0, size - 1);
};

std::vector<int> listen_fds() {
    std::vector<int> found;
    std::string const value = env("SINEW_LISTEN_FDS").value_or("");
    for (char const *at = value.data(), *last = at + value.size(); at < last; ++at) {
        int fd = -1;
        auto const [end, error] = std::from_chars(at, last, fd);
        if (error != std::errc() || fd < 0 || (end != last && *end != ','))
            throw UsageError(text("SINEW_LISTEN_FDS=", value,
                                  " (must be descriptors with commas between", leave_it));
        found.push_back(fd);
        at = end;
    }
    return found;
}

/// Returns the address that a listening socket is bound to; empty if `fd` is not one.
std::string bound_to(int fd, WorldFile::Rank const& rank) {
    int listens = 0;
    socklen_t length = sizeof(listens);
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens == 0)
        return {};
    sockaddr_un name{};
    length = sizeof(name);
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0) return {};
    if (name.sun_family == AF_UNIX) return wire::Address::unix_socket(name.sun_path).text();
    return wire::Address::tcp(rank.remote ? rank.remote->host : "", wire::bound_port(fd)).text();
}

/// Returns the sockets on which this rank accepts connections. They survive an exec but serve one
/// World.
std::vector<UniqueFd> take_listeners(WorldFile const& world, Place const& place) {
    static std::atomic<bool> taken{false};
    WorldFile::Rank const& rank = world.ranks[static_cast<std::size_t>(place.rank)];
    if (taken.exchange(true))
        throw Unavailable(text("rank ", place.rank, " of ", place.size,
                               " has had a World already (it can be made once per process over "
                               "sockets). Keep the first one"));
    std::vector<UniqueFd> listeners;
    for (int const fd : listen_fds()) {
        std::string const bound = bound_to(fd, rank);
        if (bound != rank.local.text() && (!rank.remote || bound != rank.remote->text()))
            throw UsageError(text("descriptor ", fd,
                                  " of SINEW_LISTEN_FDS is not a socket that "
                                  "listens for rank ",
                                  place.rank, " of ", place.size, " (it is ",
                                  bound.empty() ? "something else" : bound,
                                  "). Did a program in between close it?"));
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
        ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
        listeners.emplace_back(fd);
    }
    return listeners;
}

/// A file in the job's folder that exists while this process is in its World. It lets the agent
/// distinguish a rank that left its World and exited with code 0 from one that exited inside it. If
/// the file cannot be created, only this distinction is lost.
class PresenceFile {
public:
    PresenceFile(std::string const& folder, int rank)
        : path_(presence_file(folder, rank)),
          file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) {}
    PresenceFile(PresenceFile const&) = delete;
    ~PresenceFile() {
        if (::getpid() == owner_) ::unlink(path_.c_str());  // not in a forked child
    }

private:
    std::string path_;
    UniqueFd file_;
    pid_t owner_ = ::getpid();
};

Bootstrap over_sockets(Place const& place) {
    WorldFile world = WorldFile::read(env("SINEW_WORLD_FILE").value_or(""));
    if (world.size() != place.size)
        throw UsageError(text("SINEW_SIZE=", place.size, ", but the world file has ", world.size(),
                              " ranks (is it another job's?", leave_it));
    auto listeners = take_listeners(world, place);
    auto mesh = std::make_unique<SocketMesh>(std::move(world), place.rank, std::move(listeners));
    Bootstrap found{.name = "agent",
                    .transport = std::make_unique<SocketTransport>(std::move(mesh))};
    if (auto const folder = env("SINEW_JOB_FOLDER"))
        found.presence = std::make_shared<PresenceFile>(*folder, place.rank);
    return found;
}

#if SINEW_HAVE_MPI
/// Throws BackendError if MPI's rank and size differ from the agent's: an MPI without a server
/// silently starts each process as a world of one rank.
Bootstrap over_mpi(int argc, char** argv, Place const& place) {
    Bootstrap found = mpi_bootstrap(argc, argv);
    found.name = "agent";
    int const rank = found.transport->rank(), size = found.transport->size();
    if (rank == place.rank && size == place.size) return found;
    throw BackendError(
        text("MPI calls this process rank ", rank, " of ", size,
             ", but sinew run started it as "
             "rank ",
             place.rank, " of ", place.size, " on ", NodeIdentity::mine().host_text(), " (",
             MpiLibrary::version(),
             " did not find the agent, or another launcher is in "
             "between). Run the program with the MPI that it was built with, see sinew doctor, or "
             "set SINEW_TRANSPORT=socket"),
        0);
}
#endif

}  // namespace

bool started_by_agent() { return env("SINEW_WORLD_FILE").has_value(); }

Bootstrap agent_bootstrap([[maybe_unused]] int argc, [[maybe_unused]] char** argv, Medium medium) {
    Place const place;
#if SINEW_HAVE_MPI
    bool const here = MpiLibrary::usable() || mpi_is_served();
    if (medium != Medium::socket && here) return over_mpi(argc, argv, place);
#endif
    if (medium == Medium::mpi)
        throw Unavailable(text("SINEW_TRANSPORT=mpi, but rank ", place.rank, " of ", place.size,
                               " has no MPI (",
                               SINEW_HAVE_MPI ? "the agent serves it none" : "not built in",
                               "). Unset SINEW_TRANSPORT for sockets"));
    return over_sockets(place);
}

}  // namespace sinew
