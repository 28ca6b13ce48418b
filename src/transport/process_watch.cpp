// SPDX-License-Identifier: Apache-2.0
#include "src/transport/process_watch.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew {

namespace {

/// Returns field 22 of /proc/PID/stat, or 0 if it cannot be read.
std::uint64_t start_time_of(std::string const& pid) {
    std::ifstream file("/proc/" + pid + "/stat");
    std::string line;
    std::getline(file, line);
    auto const name_end = line.rfind(')');  // the name, field 2, may hold anything
    if (name_end == std::string::npos) return 0;
    std::istringstream rest(line.substr(name_end + 1));
    std::string field;
    for (int number = 3; number < 22; ++number) rest >> field;
    std::uint64_t ticks = 0;
    rest >> ticks;
    return ticks;
}

int open_pidfd(std::int64_t pid) {
#ifdef SYS_pidfd_open
    return static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
#else
    static_cast<void>(pid);
    errno = ENOSYS;
    return -1;
#endif
}

/// The pidfds that the watches of this process hold.
class OpenPidfds {
public:
    /// Returns null and sets errno if no pidfd can be opened.
    std::shared_ptr<UniqueFd const> get(ProcessIdentity const& process) {
        std::lock_guard const lock(mutex_);
        std::erase_if(open_, [](auto const& entry) { return entry.second.expired(); });
        auto& known = open_[{process.pid, process.start_time}];
        auto fd = known.lock();
        if (fd) return fd;
        UniqueFd fresh(open_pidfd(process.pid));
        if (!fresh) return nullptr;
        known = fd = std::make_shared<UniqueFd const>(std::move(fresh));
        return fd;
    }

private:
    std::mutex mutex_;
    std::map<std::pair<std::int64_t, std::uint64_t>, std::weak_ptr<UniqueFd const>> open_;
};

std::shared_ptr<UniqueFd const> shared_pidfd(ProcessIdentity const& process) {
    static auto& open = *new OpenPidfds;  // never destroyed: may be used during exit
    return open.get(process);
}

void warn_once_of_blindness() {
    static std::once_flag once;
    std::call_once(once, [] {
        log_warning(text("not all processes of this job can be watched (", std::strerror(errno),
                         "): the death of some will be noticed by the deadline only. Raise the "
                         "limit of open files (ulimit -n)"));
    });
}

bool same_namespace(ProcessIdentity const& a, ProcessIdentity const& b) {
    return a.boot[0] != '\0' && a.pid_namespace != 0 && a.boot == b.boot &&
           a.pid_namespace == b.pid_namespace;
}

}  // namespace

ProcessIdentity ProcessIdentity::mine() {
    ProcessIdentity me;
    me.pid = ::getpid();
    me.start_time = start_time_of("self");
    std::ifstream("/proc/sys/kernel/random/boot_id").read(me.boot.data(), 36);
    struct stat info {};
    if (::stat("/proc/self/ns/pid", &info) == 0) me.pid_namespace = info.st_ino;
    return me;
}

ProcessWatch::ProcessWatch(std::span<ProcessIdentity const> all, int me) {
    ProcessIdentity const& mine = all[static_cast<std::size_t>(me)];
    for (int rank = 0; rank < static_cast<int>(all.size()); ++rank) {
        ProcessIdentity const& other = all[static_cast<std::size_t>(rank)];
        if (rank == me || !same_namespace(mine, other)) continue;
        auto fd = shared_pidfd(other);
        if (!fd) {
            if (errno == ESRCH) gone_.push_back(rank);
            else if (errno == EMFILE || errno == ENFILE) warn_once_of_blindness();
            continue;  // not watched: old kernel, seccomp filter or no descriptors left
        }
        // The pid may have been reused by another process before it was opened.
        auto const started = start_time_of(std::to_string(other.pid));
        if (started != 0 && other.start_time != 0 && started != other.start_time)
            gone_.push_back(rank);
        else watched_.push_back({rank, std::move(fd)});
    }
}

std::vector<int> ProcessWatch::ended() const {
    std::vector<pollfd> polled;
    polled.reserve(watched_.size());
    for (Watched const& process : watched_) polled.push_back({process.fd->get(), POLLIN, 0});
    int ready = 0;
    do ready = ::poll(polled.data(), polled.size(), 0);
    while (ready < 0 && errno == EINTR);

    std::vector<int> ranks = gone_;
    if (ready <= 0) return ranks;
    for (std::size_t i = 0; i < polled.size(); ++i)
        if ((polled[i].revents & POLLIN) != 0) ranks.push_back(watched_[i].rank);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

}  // namespace sinew
