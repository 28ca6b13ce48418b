// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "launchers/docker/container.hpp"
#include "launchers/docker/http.hpp"

namespace sinew::launch::docker {

/// A container as the engine lists it.
struct ListedContainer {
    std::string id, name, image, state;
    std::int64_t created = 0;  ///< seconds since 1970
    std::map<std::string, std::string> labels;
};

struct ListedNetwork {
    std::string id, name, gateway;
    std::map<std::string, std::string> labels;
};

/// The socket of the engine: that of DOCKER_HOST, otherwise the first that is there of
/// /var/run/docker.sock and podman's. Throws UsageError if DOCKER_HOST names no Unix socket.
std::string engine_socket();

/// A client of the Engine API of Docker, which podman has, too. Calls block, within limits of time.
/// All throw Unavailable, with the engine's words and a remedy, if it refuses. For one thread.
class Engine {
public:
    /// Asks the engine at this socket which version of the API it has. Throws Unavailable if there
    /// is none, or this user may not use it.
    explicit Engine(std::string socket);

    std::string const& socket() const { return socket_; }
    /// The version of the API that is used.
    std::string version() const { return version_; }

    bool has_image(std::string const& image) const;
    /// Returns when the image is there. `progress` gets a line about each step.
    void pull(std::string const& image,
              std::function<void(std::string const& line)> const& progress) const;

    /// Returns the container's id.
    std::string create(ContainerSpec const& spec) const;
    /// The container's standard input and output, as a stream: what is written is its input, and
    /// what can be read are frames (FrameParser). `arrived`: what has come of them already.
    UniqueFd attach(std::string const& id, std::string& arrived) const;
    /// An answer that comes when the container has ended and been removed: see exit_code_of().
    HttpConnection wait_removed(std::string const& id) const;
    static int exit_code_of(HttpConnection& waiting);
    void start(std::string const& id, ContainerSpec const& spec) const;
    /// False: it does not run (any more).
    bool kill(std::string const& id, std::string const& signal) const;
    void remove(std::string const& id) const;
    /// The containers, also those that do not run, that have all these labels ("KEY" or
    /// "KEY=VALUE").
    std::vector<ListedContainer> list(std::vector<std::string> const& labels) const;
    /// What a container has written, in frames: an answer whose pieces are those. `tail`: at most
    /// so many lines; below 0: all.
    HttpConnection logs(std::string const& id, bool follow, int tail) const;

    /// The network, whose gateway leads to this host, also if there is one of this name already.
    ListedNetwork make_network(std::string const& name,
                               std::map<std::string, std::string> const& labels) const;
    ListedNetwork network(std::string const& name) const;
    std::vector<ListedNetwork> networks(std::string const& label) const;
    /// False: containers are still in it. One that is not there counts as removed.
    bool remove_network(std::string const& name) const;

private:
    struct Reply {
        int status = 0;
        std::string body;
    };
    HttpConnection open(HttpRequest request) const;
    Reply call(HttpRequest request) const;
    [[noreturn]] void refused(Reply const& reply, std::string const& what,
                              std::string const& remedy = {}) const;

    std::string const socket_;
    std::string version_;
};

}  // namespace sinew::launch::docker
