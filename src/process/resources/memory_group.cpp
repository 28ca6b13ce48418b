// SPDX-License-Identifier: Apache-2.0
#include "src/process/resources/memory_group.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "src/base/system/cgroup.hpp"
#include "src/base/system/oom.hpp"
#include "src/base/text.hpp"

namespace sinew::process {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "sinew-memory-";

std::atomic<bool> allowed{true};

bool writable(std::string const& path) { return ::access(path.c_str(), W_OK) == 0; }

std::string first_line(std::string const& path) {
    std::string line;
    std::getline(std::ifstream(path), line);
    return line;
}

// Does not create the file: if a cgroup lacks it, the kernel does not support it.
bool write_to(std::string const& path, std::string_view words) {
    UniqueFd const file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return file &&
           ::write(file.get(), words.data(), words.size()) == static_cast<ssize_t>(words.size());
}

bool hands_on_memory(std::string const& folder) {
    return (' ' + first_line(folder + "/cgroup.subtree_control") + ' ').find(" memory ") !=
           std::string::npos;
}

// Whether the cgroup has limits, which children in a sibling cgroup would escape.
bool has_limits(std::string const& folder) {
    for (char const* const file :
         {"/memory.max", "/memory.high", "/memory.swap.max", "/cpu.max", "/pids.max"}) {
        auto const limit = first_line(folder + file);
        if (!limit.empty() && !limit.starts_with("max")) return true;
    }
    return false;
}

std::optional<std::string> place_of_version_2(MemoryCgroup const& own) {
    auto const folder = own.folder();
    if (writable(folder) && hands_on_memory(folder)) return folder;
    if (own.path.empty() || has_limits(folder)) return std::nullopt;
    auto const above = own.mount + own.path.substr(0, own.path.find_last_of('/'));
    if (writable(above) && writable(above + "/cgroup.procs") && hands_on_memory(above))
        return above;
    return std::nullopt;
}

std::vector<std::string> groups_in(std::string const& folder) {
    std::vector<std::string> found;
    std::error_code none;
    for (fs::directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
        if (at->path().filename().string().starts_with(prefix)) found.push_back(at->path());
    return found;
}

UniqueFd open_folder(std::string const& folder) {
    return UniqueFd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Also removes the cgroups that the child made for its children.
bool remove_with_those_below(std::string const& folder) {
    for (auto const& below : groups_in(folder)) remove_with_those_below(below);
    return ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
}

/// Prevents remove_stale_memory_groups() while the lock is held, since a new group is not locked
/// yet. Gives up after 0.1 s: a holder may be stopped.
UniqueFd hold_off_cleaners(std::string const& folder) {
    auto file = open_folder(folder);
    for (int look = 0; file && look < 100; ++look) {
        if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) return file;
        ::usleep(1'000);
    }
    return {};
}

}  // namespace

std::optional<std::string> place_of_memory_groups(std::string const& root) {
    auto const own = memory_cgroup(root);
    if (!own) return std::nullopt;
    if (own->version == 2) return place_of_version_2(*own);
    auto const folder = own->folder();
    // Without hierarchy, memory used in cgroups below ours would not count as ours.
    if (!writable(folder) || first_line(folder + "/memory.use_hierarchy") == "0")
        return std::nullopt;
    return folder;
}

MemoryGroup::MemoryGroup(std::string folder) : folder_(std::move(folder)), owner_(::getpid()) {}

MemoryGroup::~MemoryGroup() {
    if (owner_ == ::getpid()) remove();
}

std::unique_ptr<MemoryGroup> MemoryGroup::make(std::uint64_t bytes) {
    static std::atomic<unsigned> count{0};
    if (!allowed) return nullptr;
    auto const place = place_of_memory_groups();
    if (!place) return nullptr;
    auto const holding = hold_off_cleaners(*place);
    std::string folder;
    do folder = text(*place, '/', prefix, ::getpid(), '-', ++count);
    while (::mkdir(folder.c_str(), 0700) != 0 && errno == EEXIST);
    std::unique_ptr<MemoryGroup> group(new MemoryGroup(std::move(folder)));
    if (!group->limit(bytes)) return nullptr;
    return group;
}

bool MemoryGroup::limit(std::uint64_t bytes) {
    lock_ = open_folder(folder_);
    if (!lock_ || ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) return false;
    auto const words = std::to_string(bytes);
    if (write_to(folder_ + "/memory.max", words)) {
        write_to(folder_ + "/memory.swap.max", "0");
    } else if (write_to(folder_ + "/memory.limit_in_bytes", words)) {
        write_to(folder_ + "/memory.memsw.limit_in_bytes", words);
    } else {
        return false;
    }
    entrance_ = UniqueFd(::open((folder_ + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    return static_cast<bool>(entrance_);
}

std::uint64_t MemoryGroup::kills() const { return oom_kills_in(folder_); }

bool MemoryGroup::remove() { return folder_.empty() || remove_with_those_below(folder_); }

void remove_stale_memory_groups() {
    auto const place = place_of_memory_groups();
    if (!place) return;
    auto const found = groups_in(*place);
    if (found.empty()) return;
    auto const alone = open_folder(*place);
    if (!alone || ::flock(alone.get(), LOCK_EX | LOCK_NB) != 0) return;
    for (auto const& folder : found) {
        auto const lock = open_folder(folder);
        if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) remove_with_those_below(folder);
    }
}

void allow_memory_groups(bool whether) { allowed = whether; }

}  // namespace sinew::process
