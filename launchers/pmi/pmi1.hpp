// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::launch {

/// Serves the PMI-1 wire protocol of MPICH, Intel MPI and others to the ranks of one node. Turns
/// requests into replies, without sockets or clocks (as flux-core's simple_server). Lines end in
/// '\n'; unknown requests get rc=-1 and a message.
///
/// Ranks are identified by their index on this node, 0 .. local_ranks.size() - 1. Hooks may call
/// back into the server.
class Pmi1Server {
public:
    /// Gets the port that was looked up, or any text on success; nullopt: not found or not done.
    using NameAnswer = std::function<void(std::optional<std::string> const& port)>;
    struct Hooks {
        /// Sends a reply to the rank; `line` ends in '\n'.
        std::function<void(int local_rank, std::string_view line)> reply;
        /// All local ranks are in the barrier: exchanges what they put since the last one. Must be
        /// answered by `barrier_done` or `barrier_failed`.
        std::function<void(std::string puts)> barrier;
        std::function<void(int local_rank, int status, std::string message)> abort;
        std::function<void(int local_rank)> connected;  ///< at `init`
        std::function<void(int local_rank)> finalized;
        /// Publishes and looks up port names, which all nodes share. Answered once, possibly later.
        std::function<void(std::string name, std::string port, NameAnswer)> publish;
        std::function<void(std::string name, NameAnswer)> lookup, unpublish;
        /// This rank violated the protocol: closes its socket. Further input from it is ignored.
        std::function<void(int local_rank, std::string why)> violation;
    };
    struct Job {
        std::string name;              ///< name of the key-value space; no spaces
        std::vector<int> local_ranks;  ///< their ranks in the job
        int size = 0;
        int universe = 0;
        std::vector<int> app_of_local_rank;
        std::string process_mapping;  ///< "(vector,(0,2,2))": PMI_process_mapping
    };
    static constexpr std::size_t longest_line = 64 * 1024;

    /// Hooks that are not set are not called; names are then neither published nor found.
    Pmi1Server(Job job, Hooks hooks);
    /// Handles bytes from this rank's socket: whole or partial lines.
    void receive(int local_rank, std::string_view bytes);
    /// Ends the barrier with all nodes' puts, as given to `barrier`; malformed ones are skipped.
    void barrier_done(std::vector<std::string> const& puts);
    /// Ends the barrier after a failed exchange: the ranks get rc=-1, and continue or abort.
    void barrier_failed(std::string const& why);
    /// The number of local ranks that wait in the barrier.
    std::size_t waiting() const { return in_barrier_; }

private:
    struct Client {
        std::string partial;
        bool in_barrier = false;
        bool in_spawn = false;  ///< between mcmd=spawn and endcmd
        int spawns = 0, spawns_so_far = 0;
        bool ended = false;  ///< finalized, or ended by the server
    };
    struct Command;

    Client& client(int local_rank);
    void line(int local_rank, std::string_view line);
    void spawn_line(int local_rank, std::string_view line);
    void reply(int local_rank, std::string line) const;
    void end_client(int local_rank, std::string why);
    void release_barrier(std::string const& line);

    void init(int local_rank, std::string_view line);
    void maxes(int local_rank, std::string_view line);
    void appnum(int local_rank, std::string_view line);
    void universe_size(int local_rank, std::string_view line);
    void my_kvsname(int local_rank, std::string_view line);
    void put(int local_rank, std::string_view line);
    void get(int local_rank, std::string_view line);
    void barrier_in(int local_rank, std::string_view line);
    void finalize(int local_rank, std::string_view line);
    void abort(int local_rank, std::string_view line);
    void publish_name(int local_rank, std::string_view line);
    void lookup_name(int local_rank, std::string_view line);
    void unpublish_name(int local_rank, std::string_view line);

    Job job_;
    Hooks hooks_;
    std::map<std::string, std::string, std::less<>> keys_;
    std::map<std::string, std::string, std::less<>> new_keys_;  ///< put here since the last barrier
    std::vector<Client> clients_;
    std::size_t in_barrier_ = 0;
};

/// The value of PMI_process_mapping, "(vector,(first node, nodes, ranks on each)...)", for ranks in
/// order. Nodes are renumbered in the order of appearance: only which ranks share a node matters.
std::string process_mapping(std::vector<int> const& node_of_rank);

/// Packs keys and values into one text. Values may hold any bytes.
std::string pack_puts(std::map<std::string, std::string, std::less<>> const& puts);
/// Unpacks such a text; nullopt if it is malformed.
std::optional<std::vector<std::pair<std::string, std::string>>> unpack_puts(std::string_view text);

}  // namespace sinew::launch
