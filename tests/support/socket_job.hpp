// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/socket/sockets.hpp"
#include "src/world/socket_mesh.hpp"
#include "src/world/world_file.hpp"

namespace sinew::testing_support {

/// What an agent prepares for its ranks: a private folder, listening sockets, the world file. Ranks
/// of different "nodes" communicate by TCP over the loopback interface.
class SocketJob {
public:
    explicit SocketJob(std::vector<int> const& node_of_rank)
        : world{"job-of-a-test", 0, wire::Secret::random(), {}, {}} {
        std::string pattern = std::filesystem::temp_directory_path() / "sinew-test-XXXXXX";
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp: " + pattern);
        folder = pattern;
        for (int const node : node_of_rank) {
            while (static_cast<int>(world.nodes.size()) <= node)
                world.nodes.push_back("node-" + std::to_string(world.nodes.size()));
            add_rank(node);
        }
    }
    SocketJob(SocketJob const&) = delete;
    SocketJob& operator=(SocketJob const&) = delete;
    ~SocketJob() {
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
    }

    /// Passes the listening sockets to the rank, which owns them from then on.
    std::vector<UniqueFd> take_listeners(int rank) {
        return std::move(listeners.at(static_cast<std::size_t>(rank)));
    }
    std::unique_ptr<SocketMesh> mesh(int rank, SocketMesh::Options options = {}) {
        return std::make_unique<SocketMesh>(world, rank, take_listeners(rank), options);
    }

    std::filesystem::path folder;
    WorldFile world;
    std::vector<std::vector<UniqueFd>> listeners;  // by rank

private:
    void add_rank(int node) {
        auto const number = std::to_string(world.ranks.size());
        WorldFile::Rank rank;
        rank.node = node;
        for (auto const& other : world.ranks) rank.local_rank += other.node == node ? 1 : 0;
        rank.local = wire::Address::unix_socket(folder / ("rank-" + number));
        auto& sockets = listeners.emplace_back();
        sockets.push_back(wire::listening_socket(rank.local));
        sockets.push_back(wire::listening_socket(wire::Address::tcp("127.0.0.1", 0)));
        rank.remote = wire::Address::tcp("127.0.0.1", wire::bound_port(sockets.back().get()));
        world.ranks.push_back(std::move(rank));
    }
};

}  // namespace sinew::testing_support
