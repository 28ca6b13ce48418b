// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sinew/detail/call.hpp>
#include <sinew/error.hpp>
#include <sinew/meta.hpp>
#include <sinew/node.hpp>

namespace sinew {

/// A process ended, or hung, before its task could begin. what() says how, and has the last lines of
/// its standard error.
class StartFailed : public Error {
public:
    using Error::Error;
};

struct ProcessOptions {
    std::string name = {};  ///< for people and for ps; empty: "Process-1", "Process-2", ...
    /// Not worth waiting for: the destructor ends it.
    bool daemon = false;
    /// What the destructor gives a daemon between terminate() and kill().
    std::chrono::nanoseconds grace = std::chrono::seconds(5);
    /// Until its task begins.
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(60);
    /// The resources of its host that are reserved for it. Default: those of its function (see
    /// meta_of).
    Meta meta = {};
    /// Where it runs: by default on this host, otherwise on a node of a job (see Nodes).
    Node node = {};
    /// Variables "NAME=value" added to its environment, or replaced.
    std::vector<std::string> env = {};
    /// Its working directory on that node; empty: that of the process that starts it, which is this
    /// one, or the agent there.
    std::string folder = {};
    /// The file on that node, relative to `folder`, to which its standard output is appended; empty:
    /// that of the process that starts it.
    std::string out = {};
};

/// A function that runs in a process of its own: this program, started again (exec, never a mere fork).
/// main() must begin with sinew::init(argc, argv).
///
///   sinew::Process reader(sinew::task<read_all>, path, queue);
///   sinew::Process printer({.name = "printer"}, [](int n) { std::printf("%d\n", n); }, 3);
///   reader.start();
///   reader.join();   // reader.exitcode() is 0 when read_all returned
///
/// What may be called and passed is what a Pool's tasks may; the result is dropped. Arguments are
/// copied (encoded) here. Its standard input is /dev/null, its standard output ours; its standard
/// error comes through this process, and none of it is lost. It gets this process's environment
/// without what makes a rank of an MPI job.
///
/// It has a process group of its own: Ctrl-C reaches this process only. It never outlives this process,
/// whatever happens to that; so with exit(), which does not wait. It may have processes of its own.
/// One object is for one thread at a time, but kill() and terminate() may be called while another
/// thread joins.
class Process {
public:
    template <class F, class... Args>
    requires(!std::same_as<F, Process> && !std::same_as<F, ProcessOptions>)  //
        explicit Process(F const& function, Args const&... args)
        : Process(ProcessOptions(), function, args...) {}
    template <class F, class... Args>
    Process(ProcessOptions options, F const& function, Args const&... args)
        : Process(std::move(options), detail::Call<F, std::decay_t<Args const>...>::entry()) {
        using Call = detail::Call<F, std::decay_t<Args const>...>;
        Call::encode_function(state(), function);
        Call::encode_arguments(arguments(), args...);
    }
    Process(Process&&) noexcept;
    /// Ends what it stood for as the destructor does.
    Process& operator=(Process&&) noexcept;
    /// Waits until the process has ended, for as long as that takes, as std::jthread does. While an
    /// exception unwinds the stack, and of a daemon, it waits for `grace` after terminate(), then kills.
    ~Process();

    /// Returns when the process has begun its task. Throws StartFailed (also for what another node
    /// refuses), SystemError (no more processes or descriptors; no such folder), UsageError (started
    /// before; no sinew::init; the host has less than its Meta says; an entry of `env` without "="),
    /// Unavailable (too few GPUs are free now; its node is lost).
    void start();
    /// Calls the task here, in this process, with copies of the arguments.
    void run() const;
    /// Waits for the end. UsageError before start(). All that the process wrote to its standard error
    /// before is in ours then, unless ours is blocked.
    void join();
    /// False: it still runs. Zero: a look.
    bool join(std::chrono::nanoseconds timeout);
    /// SIGTERM, SIGKILL; no effect after the end. UsageError before start().
    void terminate();
    void kill();

    bool is_alive() const;
    /// Nothing before the end. 0: the task returned; 1: it threw, which is written to standard error;
    /// n: it called std::exit(n); -n: signal n killed it; 255: it is lost with its host.
    std::optional<int> exitcode() const;
    /// On its node; 0 before start().
    pid_t pid() const;
    std::string const& name() const;
    /// Before start().
    void name(std::string name);
    bool daemon() const;
    /// A descriptor for poll() and the like: readable when the process has ended. The object's.
    int sentinel() const;

private:
    struct State;
    Process(ProcessOptions options, detail::TaskEntry const& entry);
    Writer& state();
    Writer& arguments();
    std::shared_ptr<State> state_;
};

struct ProcessInfo {
    std::string name;  ///< "MainProcess" in what somebody else started
    pid_t pid = 0;
    pid_t parent = 0;
};

/// Processes that this one started by way of this library and that have not ended: those of Process
/// and workers.
std::vector<ProcessInfo> active_children();
ProcessInfo current_process();
/// How many processors this process may use: its affinity, or the quota of its cgroup (rounded up)
/// where that is less.
int cpu_count();

}  // namespace sinew
