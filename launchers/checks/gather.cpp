// SPDX-License-Identifier: Apache-2.0
//
// Gathers the facts of this machine.
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <sinew/error.hpp>
#include <sinew/version.hpp>

#include "collectives/nccl/library.hpp"
#include "launchers/checks/facts.hpp"
#include "launchers/pmi/pmix_server.hpp"
#include "launchers/program/command_output.hpp"
#include "src/base/gpus/cuda_driver.hpp"
#include "src/base/job_folder.hpp"
#include "src/base/system/this_host.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

extern char** environ;

namespace sinew::launch {

namespace {

using std::chrono::milliseconds;

std::string first_line(std::string const& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

Limit limit_of(__rlimit_resource_t resource) {
    ::rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) return {};
    auto const value = [](::rlim_t number) {
        return number == RLIM_INFINITY ? std::nullopt : std::optional<std::uint64_t>(number);
    };
    return {value(limit.rlim_cur), value(limit.rlim_max)};
}

/// Asks the implementation's own command for its version.
std::string version_of(std::string const& implementation, milliseconds timeout) {
    struct Command {
        std::string_view implementation, says;
        std::vector<std::string> argv;
    };
    std::array const commands{
        Command{"Open MPI", "Open MPI", {"mpirun.openmpi", "--version"}},
        Command{"Open MPI", "Open MPI", {"mpirun", "--version"}},
        Command{"MPICH", "MPICH", {"mpichversion"}},
        Command{"MPICH", "HYDRA", {"mpiexec.mpich", "--version"}},
    };
    for (auto const& command : commands) {
        if (command.implementation != implementation) continue;
        auto const answer = command_output(command.argv, {.time = timeout});
        if (answer.succeeded() && answer.out.find(command.says) != std::string::npos)
            return version_in(answer.out);
    }
    return {};
}

std::vector<MpiLibrary> mpi(milliseconds timeout) {
    // The folder of ldconfig is not in the PATH of ordinary users.
    for (auto const* const ldconfig : {"/sbin/ldconfig", "/usr/sbin/ldconfig", "ldconfig"}) {
        auto const cache = command_output({ldconfig, "-p"}, {timeout, std::size_t{16} << 20});
        if (!cache.succeeded()) continue;
        auto libraries = mpi_libraries(cache.out);
        for (auto& library : libraries)
            library.version = version_of(library.implementation, timeout);
        return libraries;
    }
    return {};
}

/// Parses "pid (name) state parent ...". The name may contain any character.
bool read_stat(std::string const& line, std::string& name, char& state, int& parent) {
    auto const open = line.find('('), close = line.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open) return false;
    name = line.substr(open + 1, close - open - 1);
    std::istringstream rest(line.substr(close + 1));
    return static_cast<bool>(rest >> state >> parent);
}

bool is_agent(std::string const& process) {
    std::ifstream file(process + "/cmdline", std::ios::binary);
    std::string program, word;
    std::getline(file, program, '\0');
    std::getline(file, word, '\0');
    return word == "agent";
}

/// Finds this user's orphaned agents and unreaped processes of sinew. Process 1 is their parent.
std::vector<StrayProcess> strays() {
    std::vector<StrayProcess> found;
    ::DIR* const processes = ::opendir("/proc");
    if (processes == nullptr) return found;
    while (auto const* const entry = ::readdir(processes)) {
        std::string const process = text("/proc/", entry->d_name);
        struct ::stat about {};
        int const pid = std::atoi(entry->d_name);
        if (pid <= 1 || ::stat(process.c_str(), &about) != 0 || about.st_uid != ::getuid())
            continue;
        std::string name;
        char state = 0;
        int parent = 0;
        if (!read_stat(first_line(process + "/stat"), name, state, parent)) continue;
        bool const zombie = state == 'Z';
        if (name == "sinew" && parent == 1 && (zombie || is_agent(process)))
            found.push_back({pid, zombie});
    }
    ::closedir(processes);
    return found;
}

/// Finds variables that launchers set for their ranks; not OMPI_MCA_*, which users set.
std::vector<std::string> inherited() {
    std::vector<std::string> found;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        std::string_view const whole(*variable);
        for (auto const* const prefix : {"SLURM_", "PMI_", "PMIX_", "OMPI_COMM_WORLD_", "FLUX_JOB_",
                                         "PBS_", "LSB_", "PALS_", "HYDI_"})
            if (whole.starts_with(prefix)) found.emplace_back(whole.substr(0, whole.find('=')));
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace

SharedMemory look_at_shared_memory() {
    SharedMemory shm;
    struct ::statvfs about {};
    if (::statvfs("/dev/shm", &about) == 0) {
        shm.total = about.f_blocks * about.f_frsize;
        shm.free = about.f_bavail * about.f_frsize;
    }
    UniqueFd const file(::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    int const error = file ? ::posix_fallocate(file.get(), 0, 4096) : errno;
    if (error != 0) shm.error = std::strerror(error);
    return shm;
}

GpuFacts look_at_gpus() {
    GpuFacts gpus;
    try {
        CudaDriver const& driver = CudaDriver::load();
        int version = 0;
        driver.driver_version(&version);
        driver.device_count(&gpus.count);
        gpus.driver = text("CUDA ", version / 1000, '.', version % 1000 / 10);
    } catch (Error const& error) {
        gpus.no_driver = error.what();
    }
    try {
        auto const& nccl = collectives::nccl::Library::of_process();
        gpus.nccl = text(nccl.version_text(), " (", nccl.path(), ')');
    } catch (Error const& error) {
        gpus.no_nccl = error.what();
    }
    return gpus;
}

std::vector<wire::Interface> interfaces() {
    try {
        return wire::interfaces();
    } catch (std::exception const&) {
        return {};  // the checks then report that loopback is down and there is no network
    }
}

Facts gather(GatherOptions const& options) {
    Facts facts;
    facts.own_name = host_name();
    facts.own_version = std::string(version());
    facts.own_addresses = look_up_name(facts.own_name, options.timeout);
    facts.mpi = mpi(options.timeout);
    facts.pmix = PmixServer::describe(facts.pmix_usable);
    facts.gpus = look_at_gpus();
    facts.shm = look_at_shared_memory();
    facts.memlock = limit_of(RLIMIT_MEMLOCK);
    facts.open_files = limit_of(RLIMIT_NOFILE);
    facts.core_size = limit_of(RLIMIT_CORE);
    facts.processes = limit_of(RLIMIT_NPROC);
    facts.processors = processors();
    facts.interfaces = interfaces();
    facts.clock_source =
        first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    facts.congestion_control = first_line("/proc/sys/net/ipv4/tcp_congestion_control");
    if (auto const scope = first_line("/proc/sys/kernel/yama/ptrace_scope"); !scope.empty())
        facts.ptrace_scope = std::atoi(scope.c_str());
    facts.stale_folders = stale_folders();
    facts.strays = strays();
    facts.inherited = inherited();
    facts.hosts = gather_hosts(options);
    return facts;
}

}  // namespace sinew::launch
