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

/// An MPI library that the dynamic loader would find.
struct MpiLibrary {
    std::string implementation;  ///< "Open MPI"
    std::string library;         ///< "libmpi.so.40"
    std::string version;         ///< "4.1.4"; empty: its command did not say
};

/// A resource limit; nothing: unlimited.
struct Limit {
    std::optional<std::uint64_t> soft, hard;
};

struct SharedMemory {
    std::uint64_t total = 0, free = 0;
    std::string error;  ///< why no file can be made there; empty: it can
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

/// What ssh brought back from one host.
struct Reach {
    enum class Outcome : std::uint8_t {
        reached,
        no_ssh,       ///< there is no ssh here
        unresolved,   ///< the name
        refused,      ///< the host is there, but nobody listens
        unreachable,  ///< no route, or the network drops packets
        timed_out,
        host_key,  ///< unknown, or another one than before
        denied,    ///< the key or the user
        failed,    ///< anything else: see `words`
    };
    Outcome outcome = Outcome::failed;
    std::string words{};          ///< ssh's last line
    std::string sinew_version{};  ///< over there; empty: not found
    /// Its clock minus ours lies between these (seconds).
    std::optional<double> clock_least{}, clock_most{};
};

struct HostFacts {
    std::string host;
    LookUp forward, reverse;
    Reach reach;
};

/// Everything the checks look at. Gathered by `gather`; tests make them up. The defaults are those
/// of a machine without fault.
struct Facts {
    std::string own_name = "node-a", own_version = "0.1.0";
    LookUp own_addresses;
    std::vector<MpiLibrary> mpi;
    bool pmix_usable = true;
    std::string pmix;  ///< its version, or why not
    SharedMemory shm{std::uint64_t{1} << 34, std::uint64_t{1} << 34, ""};
    Limit memlock, open_files{1 << 20, 1 << 20}, core_size, processes;
    Processors processors;
    std::vector<wire::Interface> interfaces;
    std::string clock_source = "tsc";
    std::string congestion_control = "cubic";
    std::optional<int> ptrace_scope;  ///< nothing: the kernel has no Yama
    std::vector<std::string> stale_folders;
    std::vector<StrayProcess> strays;
    std::vector<std::string> inherited;  ///< names of variables of other launchers
    std::vector<HostFacts> hosts;
};

struct GatherOptions {
    std::vector<std::string> hosts;
    std::chrono::milliseconds timeout{5000};  ///< for each question
    int window = 32;                          ///< hosts asked at once
};

/// Asks this machine and the hosts. Each question has its deadline; nothing is thrown.
Facts gather(GatherOptions const& options);
/// Part of it: the hosts, in order.
std::vector<HostFacts> gather_hosts(GatherOptions const& options);

/// /dev/shm as it is now.
SharedMemory look_at_shared_memory();
/// Those that are up; none where they cannot be asked for.
std::vector<wire::Interface> interfaces();

/// By `getent`, which knows files, DNS and whatever else this system asks.
LookUp look_up_name(std::string const& name, std::chrono::milliseconds timeout);
LookUp look_up_address(std::string const& address, std::chrono::milliseconds timeout);

/// What ssh's exit code and words mean.
Reach::Outcome ssh_outcome(int exit_code, std::string const& words);
/// What the far side printed (its time; its `sinew --version`), and when we asked and heard.
void read_answer(Reach& reach, std::string const& answer, double asked, double heard);
/// The MPI libraries in the output of `ldconfig -p`, without versions.
std::vector<MpiLibrary> mpi_libraries(std::string const& cache);
/// The first "1.2.3" in a text; empty if there is none.
std::string version_in(std::string const& text);

}  // namespace sinew::launch
