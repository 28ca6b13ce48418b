// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/common/job.hpp"
#include "src/base/bytes.hpp"
#include "src/wire/tls/secret.hpp"

// What `sinew run` (the root) and the agents say to each other, over wire links. Every message
// begins with a node: upwards the one it comes from, downwards the one it is for, or `everyone`.
// Agents pass on what is not for them. Cold messages are CBOR; fences and output are plain bytes.
namespace sinew::launch {

inline constexpr int everyone = -2;

enum class Kind : std::uint8_t {
    hello = 1,  ///< agent to root, first: Hello
    place,      ///< root's answer: Placement
    attach,     ///< agent to its parent: Attach
    attached,   ///< the parent's answer
    here,       ///< agent to the root, by its first link: it has a parent
    detached,   ///< a parent to the root: Detached
    launch,     ///< root: start these ranks: Launch
    started,    ///< agent: Started
    exited,     ///< agent: Exited
    output,     ///< agent: OutputHead and bytes
    credit,     ///< root: that many bytes of output have been written
    input,      ///< root: bytes for standard input; InputHead and bytes (none: the end)
    input_credit,
    signal,  ///< root: a number, for the ranks' process groups
    stop,    ///< root: TERM, after the grace period KILL: Stop
    abort,   ///< agent: a rank called MPI_Abort: Aborted
    fence_up,
    fence_down,
    modex,        ///< agent: what has that rank put? ModexHead
    modex_reply,  ///< the answer: ModexHead and bytes
    name,         ///< agent: publish, look up, unpublish: NameRequest
    name_reply,   ///< root: NameReply
    notice,       ///< agent: a line for the user
    leaving,      ///< agent: was asked to end (SIGTERM): a planned leave
    finish,       ///< root: clean up and end
    bye,          ///< agent: cleaned up
    failing,      ///< agent: ends its ranks and itself, for the reason that follows
};

/// What an agent reads from its standard input: one line of JSON. Holds the secret.
struct AgentConfig {
    std::string job;     ///< its name: letters and digits, unique on each host
    std::string secret;  ///< hex
    int node = 0;
    std::string name;  ///< of the node
    std::uint32_t incarnation = 0;
    std::vector<std::string> roots;    ///< addresses, to be tried in this order
    bool listen = false;               ///< may get children of its own
    std::vector<std::string> folders;  ///< of the root's, to be removed should it be killed
    std::int64_t patience_ms = 30000;  ///< for reaching the root
};

struct Hello {
    int node = 0;
    std::uint32_t incarnation = 0;
    std::string name, version;
    pid_t pid = 0;
    int cores = 0;
    std::string host;            ///< the operating system's name of it
    std::string address;         ///< of the interface the root is reached by
    std::string interface;       ///< its name; empty when that is loopback
    std::string listen;          ///< where its children may dial it; empty: nowhere
    int free_port = 0;           ///< for MASTER_PORT
    int unreachable = everyone;  ///< the parent it was given, and could not reach; everyone: none
    Place place;
};

struct Placement {
    int parent = 0;       ///< root_node: stay on this link
    std::string address;  ///< else where it listens
    std::string refused;  ///< not empty: not wanted, and why
};

/// Who is where in the tree comes with the job, from the root. Only what changes later is passed on
/// link by link: so an agent hears a bounded number of messages while a large job gathers.
struct Attach {
    std::vector<int> nodes;  ///< the sender's and all below it
    bool again = false;      ///< it had another parent before: to be passed on to the root
};

struct Detached {
    int child = 0;
    std::vector<int> nodes;  ///< its own and all below it
    std::string why;
};

struct Launch {
    std::uint32_t epoch = 0;
    int restart = 0;
    std::string job;
    std::string data_key;  ///< of the ranks among themselves, this epoch; hex
    JobMap map;
    std::vector<int> agents;             ///< which agent serves each node of the map
    std::vector<int> parents;            ///< of each agent in the tree
    std::vector<std::string> addresses;  ///< of the nodes of the map
    std::vector<App> apps;
    std::map<std::string, std::string> env;
    std::string folder;  ///< working directory of `sinew run`
    BindTo bind_to = BindTo::automatic;
    MpiSupport mpi = MpiSupport::automatic;
    std::string stdin_to;
    std::string master_address;
    int master_port = 0;
    std::int64_t window = 0;  ///< bytes of output that may be under way from one agent
    bool report_bindings = false;
};

struct StartedRank {
    int rank = 0;
    pid_t pid = 0;
    int error = 0;     ///< errno of the step that failed; 0: it runs
    std::string step;  ///< "exec ./prog"
};

struct Exited {
    int rank = 0;
    pid_t pid = 0;
    int code = 0;
    int signal = 0;         ///< 0: by exit
    bool stopped = false;   ///< after we had told it to end
    bool joined = false;    ///< had called MPI_Init (PMIx, PMI-1)
    bool left = false;      ///< and MPI_Finalize
    bool in_world = false;  ///< without MPI: had made a World, and has not ended it
    bool oom = false;       ///< the kernel had to find memory
    std::string cause;      ///< what more is known, for the user
};

struct Aborted {
    int rank = 0;
    int status = 0;
    std::string message;
};

struct Stop {
    int signal = 15;
    std::int64_t grace_ms = 0;
};

struct NameRequest {
    std::uint64_t id = 0;
    std::string verb;  ///< publish, lookup, unpublish
    std::string key;
    std::string value;  ///< any bytes
};

struct NameReply {
    std::uint64_t id = 0;
    bool ok = false;
    std::string value;
};

struct OutputHead {
    std::int32_t rank = 0;
    std::uint8_t stream = 1;  ///< 1 or 2
    std::uint8_t starts_line = 1, ends_line = 1;
    std::uint8_t unused = 0;
};

struct ModexHead {
    std::uint64_t id = 0;
    std::int32_t rank = 0;
    std::int32_t from = 0;  ///< the node that asks
    std::uint64_t ok = 0;   ///< 1: the bytes are the answer
};

/// A cold message as bytes, and back. `decode` throws UsageError naming the kind of message.
template <class T>
std::string encode(T const& value);
template <class T>
T decode(std::string_view bytes);

/// The same for an agent's configuration, as a line of JSON.
std::string config_line(AgentConfig const& config);
AgentConfig parse_config(std::string_view line);

/// Takes a head off the front, as it lies in memory: agents of one job are of one architecture, which
/// the hello's version checks. Throws UsageError if there are too few bytes.
template <class T>
T take_head(std::span<std::byte const>& bytes);

}  // namespace sinew::launch
