// SPDX-License-Identifier: Apache-2.0
#include "src/base/job_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sinew/error.hpp>
#include <string_view>

#include "src/base/env.hpp"
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

// A folder that is being removed.
constexpr std::string_view dead = ".dead";

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

// The name is free at once, before the files are removed: another process may claim it.
void remove_aside(std::string const& folder) {
    std::error_code ignored;
    auto const aside = text(folder, ".", ::getpid(), dead);
    if (::rename(folder.c_str(), aside.c_str()) == 0) fs::remove_all(aside, ignored);
    else fs::remove_all(folder, ignored);
}

// Removes a stale folder while its lock is held, and only if the lock is still that of this name:
// another process may have removed the folder, and a third may have claimed the name.
void discard(std::string const& folder) {
    auto const file = folder + "/lock";
    struct ::stat named {
    }, held{};
    auto const taken = lock(folder, 0);
    if (::lstat(file.c_str(), &named) == 0 &&
        (!taken || ::fstat(taken.get(), &held) != 0 || held.st_ino != named.st_ino))
        return;
    remove_aside(folder);
}

/// How an attempt to create a folder has ended.
struct Made {
    UniqueFd lock;  ///< none: it was not created
    int error = 0;
    bool taken = false;  ///< another process has that name
};

Made make_folder(std::string const& path) {
    auto const first = path + std::string(unfinished);
    Made made;
    if (::mkdir(first.c_str(), 0700) != 0) return {{}, errno, errno == EEXIST};
    made.lock = lock(first, O_CREAT);
    if (made.lock) sign(made.lock.get());
    if (made.lock && ::rename(first.c_str(), path.c_str()) == 0) return made;
    made.error = errno;
    made.taken = made.lock && (made.error == EEXIST || made.error == ENOTEMPTY);
    made.lock = {};
    // remove_all needs a file descriptor, and there may be none left.
    ::unlink((first + "/lock").c_str());
    ::rmdir(first.c_str());
    if (made.error == EMFILE || made.error == ENFILE)
        throw SystemError(text(path, " cannot be locked (", std::strerror(made.error),
                               "). Raise the limit of open files (ulimit -n)"),
                          made.error);
    return made;
}

[[noreturn]] void cannot_create(std::string const& path, int error) {
    throw SystemError(
        text(path, " cannot be created (", std::strerror(error),
             "). Set SINEW_TMPDIR to a folder on this node for sockets and shared memory"),
        error);
}

std::vector<std::string> folders_with(std::string const& beginning) {
    std::vector<std::string> found;
    for (auto const& base : bases()) {
        std::error_code none;
        for (fs::directory_iterator at(base, none), end; !none && at != end; at.increment(none))
            if (at->path().filename().string().starts_with(beginning))
                found.push_back(at->path().string());
    }
    return found;
}

}  // namespace

JobFolder::JobFolder(std::string path, UniqueFd lock)
    : path_(std::move(path)), lock_(std::move(lock)), owner_(::getpid()) {}

JobFolder::JobFolder(std::string const& name) : owner_(::getpid()) {
    int error = 0;
    for (auto const& base : bases()) {
        path_ = text(base, "/", prefix(), name);
        auto made = make_folder(path_);
        if (made.lock) {
            lock_ = std::move(made.lock);
            return;
        }
        error = made.error;
    }
    cannot_create(path_, error);
}

std::optional<JobFolder> JobFolder::claim(std::string const& name) {
    // It may be in any base: the first was full for another process, perhaps.
    for (auto const& path : folders_with(prefix() + name)) {
        if (name_of_folder(path) != name) continue;
        if (!is_stale(path)) return std::nullopt;
        discard(path);
    }
    std::string path;
    int error = 0;
    for (auto const& base : bases()) {
        path = text(base, "/", prefix(), name);
        auto made = make_folder(path);
        if (made.lock) return JobFolder(std::move(path), std::move(made.lock));
        if (made.taken) return std::nullopt;
        error = made.error;
    }
    cannot_create(path, error);
}

JobFolder::~JobFolder() {
    if (lock_ && owner_ == ::getpid()) remove();
}

std::string JobFolder::below(std::string const& name) const {
    std::string path = path_ + "/" + name;
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        throw SystemError(text(path, " cannot be created (", std::strerror(errno), ")"), errno);
    return path;
}

void JobFolder::remove() { remove_aside(path_); }

std::vector<std::string> stale_folders() {
    auto found = folders_with(prefix());
    std::erase_if(found, [](auto const& path) { return !is_stale(path); });
    return found;
}

std::vector<std::string> living_folders(std::string_view beginning) {
    auto found = folders_with(prefix() + std::string(beginning));
    std::erase_if(found, [](auto const& path) {
        return path.ends_with(unfinished) || path.ends_with(dead) || is_stale(path);
    });
    return found;
}

std::string name_of_folder(std::string const& path) {
    return fs::path(path).filename().string().substr(prefix().size());
}

// The descriptors of a killed process are closed one after the other. A peer that has seen its
// socket close may still find the lock held, and retries.
void remove_if_stale(std::string const& folder) {
    std::error_code ignored;
    for (int look = 0; look < 50 && fs::exists(folder, ignored); ++look) {
        if (is_stale(folder)) discard(folder);
        else ::usleep(20'000);
    }
}

std::vector<std::string> remove_stale_folders() {
    auto found = stale_folders();
    for (auto const& folder : found) discard(folder);
    return found;
}

}  // namespace sinew
