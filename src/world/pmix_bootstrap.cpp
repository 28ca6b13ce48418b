// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sinew/error.hpp>

#include "src/base/env.hpp"
#include "src/base/text.hpp"
#include "src/transport/socket_transport.hpp"
#include "src/wire/socket/sockets.hpp"
#include "src/world/bootstrap.hpp"
#include "src/world/node_identity.hpp"
#include "src/world/pmix_client.hpp"
#include "src/world/socket_mesh.hpp"

namespace sinew {

namespace {

using namespace std::chrono_literals;

// There is one key per item, because a server may limit the length of a value.
constexpr char const* node_key = "sinew.node";
constexpr char const* host_key = "sinew.host";
constexpr char const* local_key = "sinew.local";
constexpr char const* remote_key = "sinew.remote";
constexpr char const* secret_key = "sinew.key";

/// A private folder that its owner's destructor removes.
class Folder {
public:
    Folder() {
        std::string pattern =
            std::filesystem::path(env("TMPDIR").value_or("/tmp")) / "sinew-XXXXXX";
        if (::mkdtemp(pattern.data()) == nullptr)
            throw SystemError(text("the folder ", pattern,
                                   " for this rank's socket cannot be created. Set TMPDIR to a "
                                   "folder that may be written to"),
                              errno);
        path = pattern;
    }
    Folder(Folder const&) = delete;
    Folder& operator=(Folder const&) = delete;
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    std::filesystem::path path;
};

/// Returns the loopback address if all ranks share a host, so that no port is open to other hosts.
std::string tcp_host(bool one_node) {
    if (!one_node)
        for (auto const& interface : wire::interfaces())
            if (!interface.loopback) return interface.address;
    return "127.0.0.1";
}

/// The values that a rank publishes to the others, and the sockets on which it accepts connections.
struct Offer {
    explicit Offer(PmixClient& client) {
        auto const local = wire::Address::unix_socket(folder.path / "rank");
        listeners.push_back(wire::listening_socket(local));
        bool const one_node = client.local_size() == client.size();
        std::string const host = tcp_host(one_node);
        listeners.push_back(wire::listening_socket(wire::Address::tcp(host, 0)));
        auto const remote = wire::Address::tcp(host, wire::bound_port(listeners.back().get()));
        NodeIdentity const node = NodeIdentity::mine();
        client.put(node_key, node.key_text());
        client.put(host_key, node.host_text());
        client.put(local_key, local.text());
        client.put(remote_key, remote.text());
        // Only ranks of the job can get these values, provided that its server keeps other users
        // out (docs/launching.md lists the exceptions). PMIx has no other way to share a key.
        if (client.rank() == 0) client.put(secret_key, wire::Secret::random().hex());
    }
    Folder folder;
    std::vector<UniqueFd> listeners;
};

WorldFile gather(PmixClient& client) {
    WorldFile world{client.job(), 0, wire::Secret::from_hex(client.get(0, secret_key)), {}, {}};
    std::vector<std::string> nodes;
    std::vector<int> ranks_of;
    for (int other = 0; other < client.size(); ++other) {
        std::string const node = client.get(other, node_key);
        auto const index =
            static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
        if (index == nodes.size()) {
            nodes.push_back(node);
            world.nodes.push_back(client.get(other, host_key));
            ranks_of.push_back(0);
        }
        world.ranks.push_back({static_cast<int>(index), ranks_of[index]++,
                               wire::Address::parse(client.get(other, local_key)),
                               wire::Address::parse(client.get(other, remote_key))});
    }
    return world;
}

}  // namespace

Bootstrap pmix_bootstrap() {
    auto client = std::make_shared<PmixClient>(env_duration("SINEW_TIMEOUT", 5min));
    auto offer = std::make_shared<Offer>(*client);
    client->exchange();
    auto mesh = std::make_unique<SocketMesh>(gather(*client), client->rank(),
                                             std::exchange(offer->listeners, {}));
    // The folder is removed when `leave` is destroyed, whether it was called or not.
    return {.name = "pmix",
            .transport = std::make_unique<SocketTransport>(std::move(mesh)),
            .leave = [client, offer] { client->leave(); }};
}

}  // namespace sinew
