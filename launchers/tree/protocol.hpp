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

// The messages between `sinew run` (the root) and the agents, over wire links. Every message begins
// with a node: upward the sender, downward the receiver or `everyone`. Agents forward messages for
// others. Messages are CBOR, except for fences and output, which are plain bytes.
namespace sinew::launch {

inline constexpr int everyone = -2;

enum class Kind : std::uint8_t {
    hello = 1,  ///< agent to the root, first message: Hello
    place,      ///< root's answer: Placement
    attach,     ///< agent to its parent: Attach
    attached,   ///< the parent's answer
    here,       ///< agent to the root, over its first link: it has a parent
    detached,   ///< a parent to the root: Detached
    launch,     ///< root: start these ranks: Launch
    started,    ///< agent: list of StartedRank
    exited,     ///< agent: Exited
    output,     ///< agent: OutputHead and bytes
    credit,     ///< root: that many bytes of output have been written
    input,      ///< root: bytes for standard input; none: the end
    input_credit,
    signal,  ///< root: a signal number, for the ranks' process groups
    stop,    ///< root: end the ranks, by SIGKILL after the grace period: Stop
    abort,   ///< agent: a rank called MPI_Abort: Aborted
    fence_up,
    fence_down,
    modex,         ///< agent: asks for the data that a rank has put: ModexHead
    modex_reply,   ///< the answer: ModexHead and bytes
    name,          ///< agent: publish, look up, unpublish: NameRequest
    name_reply,    ///< root: NameReply
    notice,        ///< agent: a line for the user
    leaving,       ///< agent: was asked to end (SIGTERM): a planned leave
    finish,        ///< root: clean up and end
    bye,           ///< agent: cleaned up
    failing,       ///< agent: ends its ranks and itself; text of the reason
    dismiss,       ///< root: as finish, for one node, while the job goes on without this agent
    report,        ///< agent: what a program tells the dashboard: ReportHead and a line
    report_taken,  ///< root: the agent may send the next report
};

/// The configuration that an agent reads from standard input: one line of JSON. Holds the secret.
struct AgentConfig {
    std::string job;     ///< its name: letters and digits, unique on each host
    std::string secret;  ///< hex
    int node = 0;
    std::string name;  ///< name of the node
    std::uint32_t incarnation = 0;
    std::vector<std::string> roots;    ///< addresses, tried in this order
    bool listen = false;               ///< the agent may get children
    std::vector<std::string> folders;  ///< the root's, for agents to remove if it was killed
    std::int64_t patience_ms = 30000;  ///< time limit for reaching the root
    /// The root has not started this agent: it waits for the root, and says what it waits for.
    bool by_itself = false;
    std::string address;  ///< of this node, for the others; empty: that of its link to the root
    Place place;          ///< of this node; empty: place_of_this_node()
    /// Hello::process and began_ms, which stay when an agent that comes by itself dials again; the
    /// incarnation counts that. 0: drawn.
    std::uint64_t process = 0;
    std::int64_t began_ms = 0;
};

/// How far a job has come. A root that takes the place of another learns it from the agents.
struct JobProgress {
    std::uint32_t epochs = 0;  ///< the number of the next epoch
    int restarts = 0;          ///< of any kind
    int failures = 0;          ///< restarts that count against --max-restarts
    int disruptions = 0;       ///< restarts because a node was lost
};

struct Hello {
    int node = 0;
    std::uint32_t incarnation = 0;
    std::string name, version;
    pid_t pid = 0;
    int cores = 0;
    std::string host;            ///< host name of the operating system
    std::string address;         ///< of the interface that leads to the root
    std::string interface;       ///< name of that interface; empty: loopback
    std::string listen;          ///< address for its children; empty: it takes none
    int free_port = 0;           ///< for MASTER_PORT
    int unreachable = everyone;  ///< assigned parent that it could not reach; everyone: none
    Place place;
    std::uint64_t process = 0;  ///< a random number, which no other agent of the job has
    std::int64_t began_ms = 0;  ///< when this agent began, in milliseconds of the epoch
    JobProgress progress;       ///< zero: it has served no epoch
    int dials = 0;              ///< connections to roots that it has tried, with this one
    /// When the root accepted it, in milliseconds of the epoch. Not sent: set by the root.
    std::int64_t accepted_ms = 0;
};

struct Placement {
    int parent = 0;       ///< root_node: stay on this link
    std::string address;  ///< the parent's, unless that is the root
    std::string refused;  ///< not empty: why the agent is refused
    bool later = false;   ///< it may be accepted later
};

/// The root sends the tree with the job. Only later changes are passed on link by link, so that an
/// agent handles a bounded number of messages while a large job gathers.
struct Attach {
    std::vector<int> nodes;  ///< the sender and all nodes below it
    bool again = false;      ///< it had another parent before: forwarded to the root
};

struct Detached {
    int child = 0;
    std::vector<int> nodes;  ///< the child and all nodes below it
    std::string why;
    std::uint64_t process = 0;      ///< the child's Hello::process
    std::uint32_t incarnation = 0;  ///< the child's
};

struct Launch {
    std::uint32_t epoch = 0;
    int restart = 0;
    std::string job;
    std::string name;      ///< of the job, for people
    std::string data_key;  ///< key of the ranks' connections in this epoch; hex
    JobMap map;
    std::vector<int> agents;             ///< agent that serves each node of the map
    std::vector<int> parents;            ///< parent of each agent in the tree
    std::vector<std::string> addresses;  ///< address of each node of the map
    std::vector<App> apps;
    std::map<std::string, std::string> env;
    std::string folder;  ///< working directory of `sinew run`
    int gpus = 0;        ///< for each rank, exclusively; 0: ranks see all
    BindTo bind_to = BindTo::automatic;
    MpiSupport mpi = MpiSupport::automatic;
    std::string stdin_to;
    std::string master_address;
    int master_port = 0;
    std::int64_t window = 0;  ///< bytes of output in flight from one agent, at most
    bool report_bindings = false;
    bool reports = false;  ///< a dashboard shows what programs tell of their pools
    JobProgress progress;  ///< with this epoch
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
    int signal = 0;         ///< 0: it exited with `code`
    bool stopped = false;   ///< it ended after it was told to
    bool joined = false;    ///< had called MPI_Init (PMIx, PMI-1)
    bool left = false;      ///< had called MPI_Finalize too
    bool in_world = false;  ///< non-MPI: it had made a World and not left it
    bool oom = false;       ///< probably killed by the kernel for lack of memory
    std::string cause;      ///< more about the cause, for the user
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

struct ReportHead {
    std::int32_t pid = 0;   ///< of the program, as the kernel says
    std::int32_t gone = 0;  ///< 1: it has closed the connection; no line follows
};

/// Encodes a CBOR message, and decodes it. `decode` throws UsageError naming the kind of message.
template <class T>
std::string encode(T const& value);
template <class T>
T decode(std::string_view bytes);

/// The same for an agent's configuration, as a line of JSON.
std::string config_line(AgentConfig const& config);
AgentConfig parse_config(std::string_view line);
/// One line for several agents, from the lines of each, by host. parse_config() returns the part of
/// the host that this variable of its environment names.
std::string shared_config_line(std::map<std::string, std::string> const& by_host,
                               std::string_view host_variable);

/// Takes a head off the front of `bytes`, as it lies in memory. Requires: all agents of a job have the
/// same architecture. Throws UsageError if there are too few bytes.
template <class T>
T take_head(std::span<std::byte const>& bytes);

}  // namespace sinew::launch
