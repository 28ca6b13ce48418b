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

/// The PMI-1 wire protocol of MPICH, Intel MPI and others, for the ranks of one node. Request in,
/// reply out: no sockets, no clocks (as flux-core's simple_server). Lines end in '\n'; requests
/// that belong to no version we know get rc=-1 and a message.
///
/// Ranks are named by their place on this node, 0 .. local_ranks.size() - 1. Hooks may call back
/// into the server.
class Pmi1Server {
public:
    /// The port that was asked for, or anything for done; nothing: not found, not done.
    using NameAnswer = std::function<void(std::optional<std::string> const& port)>;
    struct Hooks {
        /// `line` ends in '\n'.
        std::function<void(int local_rank, std::string_view line)> reply;
        /// All local ranks are in the barrier: exchange what they put since the last one. Answer by
        /// `barrier_done` or `barrier_failed`.
        std::function<void(std::string puts)> barrier;
        std::function<void(int local_rank, int status, std::string message)> abort;
        std::function<void(int local_rank)> connected;  ///< at `init`
        std::function<void(int local_rank)> finalized;
        /// Names for ports, which all nodes share: the answer may come later, once.
        std::function<void(std::string name, std::string port, NameAnswer)> publish;
        std::function<void(std::string name, NameAnswer)> lookup, unpublish;
        /// This rank does not speak PMI-1: close its socket. Nothing it sends is heard any more.
        std::function<void(int local_rank, std::string why)> violation;
    };
    struct Job {
        std::string name;              ///< of the key-value space; no spaces
        std::vector<int> local_ranks;  ///< their ranks in the job
        int size = 0;
        int universe = 0;
        std::vector<int> app_of_local_rank;
        std::string process_mapping;  ///< "(vector,(0,2,2))": PMI_process_mapping
    };
    static constexpr std::size_t longest_line = 64 * 1024;

    /// Hooks that are not set are not called; names are then neither published nor found.
    Pmi1Server(Job job, Hooks hooks);
    /// What came from this rank's socket: whole or partial lines.
    void receive(int local_rank, std::string_view bytes);
    /// The puts of all nodes, as their `barrier` hooks gave them. What cannot be read is left out.
    void barrier_done(std::vector<std::string> const& puts);
    /// The exchange failed: the ranks get rc=-1, and go on or abort as they like.
    void barrier_failed(std::string const& why);
    /// How many local ranks wait in the barrier.
    std::size_t waiting() const { return in_barrier_; }

private:
    struct Client {
        std::string partial;
        bool in_barrier = false;
        bool in_spawn = false;  ///< between mcmd=spawn and endcmd
        int spawns = 0, spawns_so_far = 0;
        bool ended = false;  ///< finalized, or ended by us
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

/// "(vector,(first node, nodes, ranks on each)...)" for this map: ranks in order, by node. Nodes
/// are numbered anew, in the order in which they appear: it says no more than who shares one.
std::string process_mapping(std::vector<int> const& node_of_rank);

/// Keys and values as one text, and back. Values may hold anything.
std::string pack_puts(std::map<std::string, std::string, std::less<>> const& puts);
/// Nothing if it is not such a text.
std::optional<std::vector<std::pair<std::string, std::string>>> unpack_puts(std::string_view text);

}  // namespace sinew::launch
