// SPDX-License-Identifier: Apache-2.0
#include "src/base/job_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sinew/error.hpp>
#include <string_view>

#include "src/base/env.hpp"
#include "src/base/system/io.hpp"
#include "src/base/system/this_host.hpp"
#include "src/base/text.hpp"

namespace sinew {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> bases() {
    if (auto const base = env("SINEW_TMPDIR")) return {*base};
    std::vector<std::string> found{"/dev/shm"};
    if (auto const base = env("TMPDIR")) found.push_back(*base);
    found.emplace_back("/tmp");
    return found;
}

std::string prefix() { return text("sinew-", ::getuid(), "-"); }

UniqueFd lock(std::string const& folder, int flags) {
    UniqueFd file(::open((folder + "/lock").c_str(), O_RDWR | O_CLOEXEC | flags, 0600));
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return {};
    return file;
}

// Writes the owner's boot id and host name, a line each, into the lock file, because on a file
// system shared by several hosts a lock may be visible on one host only.
void sign(int file) {
    auto const words = boot_id() + "\n" + host_name() + "\n";
    [[maybe_unused]] auto const written = ::write(file, words.data(), words.size());
}

enum class Owner : std::uint8_t { here, elsewhere, unknown };

Owner owner_of(fs::path const& folder) {
    std::ifstream in(folder / "lock");
    std::string boot, host;
    if (!std::getline(in, boot) || !std::getline(in, host)) return Owner::unknown;
    // The same host name with another boot id means a folder from before a reboot of this host.
    return boot == boot_id() || host == host_name() ? Owner::here : Owner::elsewhere;
}

// A folder is created and locked under a temporary name, and then renamed, so that no other process
// can lock and remove a folder that is just being created.
constexpr std::string_view unfinished = ".new";

constexpr std::time_t time_to_make = 10;  // seconds until an unlocked new folder counts as stale
// The same where the folder may belong to another host, whose clock and speed are unknown.
constexpr std::time_t time_to_make_elsewhere = 3600;

bool is_in_memory(fs::path const& folder) {
    constexpr auto tmpfs = 0x01021994;  // TMPFS_MAGIC: not shared with other hosts
    struct ::statfs about {};
    return ::statfs(folder.c_str(), &about) == 0 && about.f_type == tmpfs;
}

bool is_young(fs::path const& folder, struct ::stat const& about) {
    auto const age = std::time(nullptr) - about.st_ctime;
    return age < (is_in_memory(folder) ? time_to_make : time_to_make_elsewhere);
}

bool is_stale(fs::path const& folder) {
    struct ::stat about {};
    if (::lstat(folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) return false;
    if (about.st_uid != ::getuid()) return false;
    auto const owner = owner_of(folder);
    if (owner == Owner::elsewhere) return false;  // that host removes it
    if (folder.extension() == unfinished || owner == Owner::unknown)
        if (is_young(folder, about)) return false;
    if (::access((folder / "lock").c_str(), F_OK) != 0) return true;
    return static_cast<bool>(lock(folder, 0));
}

}  // namespace

JobFolder::JobFolder(std::string const& name) : owner_(::getpid()) {
    int error = 0;
    for (auto const& base : bases()) {
        path_ = text(base, "/", prefix(), name);
        auto const first = path_ + std::string(unfinished);
        if (::mkdir(first.c_str(), 0700) == 0) {
            lock_ = lock(first, O_CREAT);
            if (lock_) sign(lock_.get());
            if (lock_ && ::rename(first.c_str(), path_.c_str()) == 0) return;
            error = errno;
            // remove_all needs a file descriptor, and there may be none left.
            ::unlink((first + "/lock").c_str());
            ::rmdir(first.c_str());
            if (error == EMFILE || error == ENFILE)
                throw_errno(text(path_, " cannot be locked"),
                            "Raise the limit of open files (ulimit -n)", error);
            continue;
        }
        error = errno;
    }
    throw_errno(text(path_, " cannot be created"),
                "Set SINEW_TMPDIR to a folder on this node for sockets and shared memory", error);
}

JobFolder::~JobFolder() {
    if (lock_ && owner_ == ::getpid()) remove();
}

std::string JobFolder::below(std::string const& name) const {
    std::string path = path_ + "/" + name;
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        throw_errno(text(path, " cannot be created"));
    return path;
}

void JobFolder::remove() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

std::vector<std::string> stale_folders() {
    std::vector<std::string> found;
    for (auto const& base : bases()) {
        std::error_code none;
        for (auto const& entry : fs::directory_iterator(base, none))
            if (entry.path().filename().string().starts_with(prefix()) && is_stale(entry.path()))
                found.push_back(entry.path().string());
    }
    return found;
}

// The descriptors of a killed process are closed one after the other. A peer that has seen its
// socket close may still find the lock held, and retries.
void remove_if_stale(std::string const& folder) {
    std::error_code ignored;
    for (int look = 0; look < 50 && fs::exists(folder, ignored); ++look) {
        if (is_stale(folder)) fs::remove_all(folder, ignored);
        else ::usleep(20'000);
    }
}

std::vector<std::string> remove_stale_folders() {
    auto found = stale_folders();
    for (auto const& folder : found) {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
    }
    return found;
}

}  // namespace sinew
