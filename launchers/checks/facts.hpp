// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launchers/map/machine.hpp"
#include "src/wire/socket/address.hpp"

namespace sinew::launch {

/// An MPI library that the dynamic loader finds.
struct MpiLibrary {
    std::string implementation;  ///< "Open MPI"
    std::string library;         ///< "libmpi.so.40"
    std::string version;         ///< "4.1.4"; empty: unknown
};

/// A resource limit; no value means unlimited.
struct Limit {
    std::optional<std::uint64_t> soft, hard;
};

struct SharedMemory {
    std::uint64_t total = 0, free = 0;
    std::string error;  ///< why no file can be created there; empty: it can
};

/// What calls on the memory of GPUs need.
struct GpuFacts {
    std::string driver;     ///< "CUDA 13.0"
    std::string no_driver;  ///< why there is none that can be used
    int count = 0;          ///< of GPUs that the driver shows
    std::string nccl;       ///< "2.28.9 (/usr/lib/.../libnccl.so.2)"
    std::string no_nccl;    ///< why it cannot be used
};

struct LookUp {
    std::vector<std::string> answers;  ///< addresses of a name; names of an address
    std::chrono::milliseconds took{0};
    bool timed_out = false;
};

struct StrayProcess {
    int pid = 0;
    bool zombie = false;
};

/// The result of connecting to one host by ssh.
struct Reach {
    enum class Outcome : std::uint8_t {
        reached,
        no_ssh,       ///< there is no ssh here
        unresolved,   ///< the name does not resolve
        refused,      ///< the host is up, but no process listens
        unreachable,  ///< no route, or the network drops packets
        timed_out,
        host_key,  ///< unknown or changed
        denied,    ///< the host refused the key or the user
        failed,    ///< anything else: see `words`
    };
    Outcome outcome = Outcome::failed;
    std::string words{};          ///< ssh's last line of output
    std::string sinew_version{};  ///< on that host; empty: not found
    /// Its clock minus this host's clock lies between these, in seconds.
    std::optional<double> clock_least{}, clock_most{};
};

struct HostFacts {
    std::string host;
    LookUp forward, reverse;
    Reach reach;
};

/// The input of all checks. `gather` collects it; tests construct it. The defaults describe a
/// machine without faults.
struct Facts {
    std::string own_name = "node-a", own_version = "0.1.0";
    LookUp own_addresses;
    std::vector<MpiLibrary> mpi;
    bool pmix_usable = true;
    std::string pmix;  ///< its version, or why it is not usable
    GpuFacts gpus{"CUDA 13.0", "", 1, "2.28.9 (libnccl.so.2)", ""};
    SharedMemory shm{std::uint64_t{1} << 34, std::uint64_t{1} << 34, ""};
    Limit memlock, open_files{1 << 20, 1 << 20}, core_size, processes;
    Processors processors;
    std::vector<wire::Interface> interfaces;
    std::string clock_source = "tsc";
    std::string congestion_control = "cubic";
    std::optional<int> ptrace_scope;  ///< no value: the kernel has no Yama
    std::vector<std::string> stale_folders;
    std::vector<StrayProcess> strays;
    std::vector<std::string> inherited;  ///< names of variables of other launchers
    std::vector<HostFacts> hosts;
};

struct GatherOptions {
    std::vector<std::string> hosts;
    std::chrono::milliseconds timeout{5000};  ///< for each question
    int window = 32;                          ///< hosts asked at the same time
};

/// Asks this machine and the hosts. Each question has the deadline `timeout`. Does not throw.
Facts gather(GatherOptions const& options);
/// Gathers only the facts of the hosts, in order.
std::vector<HostFacts> gather_hosts(GatherOptions const& options);

/// Inspects /dev/shm.
SharedMemory look_at_shared_memory();
/// Loads the CUDA driver and NCCL. Makes no context, so that it occupies no GPU.
GpuFacts look_at_gpus();
/// The interfaces that are up; empty if they cannot be listed.
std::vector<wire::Interface> interfaces();

/// Look up by `getent`, which uses all sources of this system (files, DNS and others).
LookUp look_up_name(std::string const& name, std::chrono::milliseconds timeout);
LookUp look_up_address(std::string const& address, std::chrono::milliseconds timeout);

/// Classifies ssh's exit code and error output.
Reach::Outcome ssh_outcome(int exit_code, std::string const& words);
/// Parses what the remote host printed (its time; its `sinew --version`). `asked` and `heard` are
/// the local times of the request and the answer, in seconds.
void read_answer(Reach& reach, std::string const& answer, double asked, double heard);
/// The MPI libraries in the output of `ldconfig -p`, without versions.
std::vector<MpiLibrary> mpi_libraries(std::string const& cache);
/// The first version number ("1.2.3") in a text; empty if there is none.
std::string version_in(std::string const& text);

}  // namespace sinew::launch
