// SPDX-License-Identifier: Apache-2.0
#include "src/lease/locks/shared_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>
#include <string_view>

#include "src/base/system/io.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew::lease {
namespace {

constexpr ::mode_t everybody_may_write = S_IWGRP | S_IWOTH;

// Whoever creates a folder or file opens it to all users a moment later: it is tried again so often.
constexpr int tries = 20;
constexpr ::useconds_t pause_us = 5'000;

std::string_view remedy_for(int error) {
    switch (error) {
        case EACCES:
        case EPERM:
            return "Its folder needs mode 1777 and the file 0666, if several users are to share "
                   "it; "
                   "or set SINEW_LEASE_DIR to another folder, the same for all";
        case EROFS:
        case ENOENT:
        case ENOTDIR:
            return "Set SINEW_LEASE_DIR to a folder that can be written to, the same for all";
        case ENOSPC:
        case EDQUOT:
            return "Free some space there, or set SINEW_LEASE_DIR to another folder";
        case EMFILE:
        case ENFILE:
            return "Raise the limit of open files (ulimit -n)";
        case ELOOP:
            return "It is a symbolic link, which may be an attack: remove it, or name the folder "
                   "itself in SINEW_LEASE_DIR";
        default:
            return "SINEW_LEASE_DIR names another folder";
    }
}

[[noreturn]] void refuse(std::string const& path, int error = errno) {
    throw_errno(path + " cannot be used for leases", remedy_for(error), error);
}

bool is_of_several_hosts(int folder) {
    struct ::statfs about {};
    if (::fstatfs(folder, &about) != 0) return false;
    switch (static_cast<unsigned long>(about.f_type) & 0xffffffffUL) {
        case 0x6969:        // NFS
        case 0x517b:        // SMB
        case 0xff534d42UL:  // CIFS
        case 0xfe534d42UL:  // SMB2
        case 0x5346414f:    // AFS
        case 0x00c36400:    // Ceph
        case 0x0bd00bd0:    // Lustre
        case 0x47504653:    // GPFS
            return true;
        default:
            return false;
    }
}

void check_folder(int folder, std::string const& path) {
    struct ::stat about {};
    if (::fstat(folder, &about) != 0) refuse(path);
    if ((about.st_mode & everybody_may_write) != 0 && (about.st_mode & S_ISVTX) == 0)
        throw SystemError(text(path,
                               " cannot be used for leases (other users may replace the files in "
                               "it). Run chmod +t ",
                               path),
                          EPERM);
    if (is_of_several_hosts(folder))
        throw Unavailable(text(path,
                               " is on a network file system, but a lease is of one host. Set "
                               "SINEW_LEASE_DIR to a folder on a local disk or in memory"));
    // The umask takes rights away from a folder that is created. The sticky bit, which it leaves,
    // tells such a folder from a private one.
    if (about.st_uid == ::geteuid() && (about.st_mode & S_ISVTX) != 0 &&
        (about.st_mode & 0777) != 0777 && ::fchmod(folder, 01777) != 0)
        refuse(path);
}

// With O_DIRECTORY, a link is "not a directory".
int error_of(std::string const& path) {
    int const error = errno;
    struct ::stat about {};
    return ::lstat(path.c_str(), &about) == 0 && S_ISLNK(about.st_mode) ? ELOOP : error;
}

UniqueFd open_or_create_folder(std::string const& path) {
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    for (int look = 1;; ++look) {
        UniqueFd folder(::open(path.c_str(), flags));
        if (folder) return folder;
        if (errno == ENOENT) {
            if (::mkdir(path.c_str(), 01777) != 0 && errno != EEXIST) refuse(path);
        } else if (errno == EACCES) {
            ::usleep(pause_us);
        } else {
            refuse(path, error_of(path));
        }
        if (look == tries) refuse(path, EACCES);
    }
}

}  // namespace

int open_shared_folder(std::string const& path) {
    auto const folder = open_or_create_folder(path);
    check_folder(folder.get(), path);
    ::flock(folder.get(), LOCK_SH | LOCK_NB);
    int const fd = ::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) refuse(path);
    return fd;
}

namespace {

// No file yet: -1 with ENOENT. With O_CREAT for an existing file, the kernel may refuse one of
// another user in such a folder (fs.protected_regular).
int open_or_create(int folder, char const* name) {
    constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int fd = ::openat(folder, name, flags);
    if (fd >= 0 || errno != ENOENT) return fd;
    fd = ::openat(folder, name, flags | O_CREAT | O_EXCL, 0666);
    return fd < 0 && errno == EEXIST ? ::openat(folder, name, flags) : fd;
}

// The file's creator opens it to all who may write to the folder, also if the umask took something
// away, or if it was killed before it did.
void open_to_all(int folder, int file, struct ::stat const& about) {
    struct ::stat above {};
    if (about.st_uid == ::geteuid() && (about.st_mode & 0666) != 0666 &&
        ::fstat(folder, &above) == 0 && (above.st_mode & S_IWOTH) != 0)
        ::fchmod(file, 0666);
}

}  // namespace

int open_shared_file(int folder, std::string const& path) {
    auto const name = path.substr(path.rfind('/') + 1);
    for (int look = 1;; ++look) {
        UniqueFd file(open_or_create(folder, name.c_str()));
        if (!file) {
            bool const may_pass = errno == EACCES || errno == ENOENT;
            if (!may_pass || look == tries) refuse(path);
            ::usleep(pause_us);
            continue;
        }
        struct ::stat about {
        }, named{};
        if (::fstat(file.get(), &about) != 0) refuse(path);
        if (!S_ISREG(about.st_mode))
            throw SystemError(path + " cannot be used for leases (not a regular file). Remove it",
                              EINVAL);
        open_to_all(folder, file.get(), about);
        ::futimens(file.get(), nullptr);  // so that nobody takes it for old
        // It may have been removed meanwhile, and another one created.
        if (::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
            named.st_ino == about.st_ino) {
            int const fd = ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0);
            if (fd < 0) refuse(path);
            return fd;
        }
        if (look == tries) refuse(path, ENOENT);
    }
}

}  // namespace sinew::lease
