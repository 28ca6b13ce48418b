// SPDX-License-Identifier: Apache-2.0
#include "src/lease/locks/lock_file.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <sinew/error.hpp>

#include "src/base/system/io.hpp"
#include "src/base/text.hpp"
#include "src/lease/locks/shared_folder.hpp"

namespace sinew::lease {
namespace {

struct ::flock lock_of(ByteRange range, short type) {
    struct ::flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = range.begin;
    lock.l_len = range.end - range.begin;
    return lock;
}

short type_of(LockKind kind) { return kind == LockKind::shared ? F_RDLCK : F_WRLCK; }

[[noreturn]] void throw_lock_error(std::string const& path) {
    int const error = errno;
    if (error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == ENOLCK)
        throw Unavailable(text(path, ": file locks do not work here (", std::strerror(error),
                               "). Set SINEW_LEASE_DIR to a folder on a local disk or in memory, "
                               "and use Linux 3.15 or later"));
    throw_errno(path + " cannot be locked", {}, error);
}

}  // namespace

LockFile::LockFile(std::string const& folder) : path_(folder + "/leases") {
    folder_ = ProcessFd(open_shared_folder(folder));
    file_ = ProcessFd(open_shared_file(folder_.get(), path_));
    lock_of_others({0, 1});  // throws if there are no such locks
}

bool LockFile::try_lock(ByteRange range, LockKind kind) const {
    auto lock = lock_of(range, type_of(kind));
    if (::fcntl(file_.get(), F_OFD_SETLK, &lock) == 0) return true;
    if (errno == EAGAIN || errno == EACCES) return false;
    throw_lock_error(path_);
}

void LockFile::unlock(ByteRange range) const {
    auto lock = lock_of(range, F_UNLCK);
    if (::fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) throw_lock_error(path_);
}

void LockFile::unlock_all() const noexcept {
    auto lock = lock_of({0, 0}, F_UNLCK);  // length 0: to the end
    ::fcntl(file_.get(), F_OFD_SETLK, &lock);
}

std::optional<ByteRange> LockFile::lock_of_others(ByteRange range, LockKind against) const {
    if (range.begin >= range.end) return std::nullopt;
    auto lock = lock_of(range, type_of(against));
    if (::fcntl(file_.get(), F_OFD_GETLK, &lock) != 0) throw_lock_error(path_);
    if (lock.l_type == F_UNLCK) return std::nullopt;
    auto const end =
        lock.l_len == 0 ? std::numeric_limits<std::int64_t>::max() : lock.l_start + lock.l_len;
    return ByteRange{std::max<std::int64_t>(range.begin, lock.l_start), std::min(range.end, end)};
}

std::optional<std::int64_t> LockFile::highest_of_others(ByteRange range) const {
    std::optional<std::int64_t> highest;
    while (auto const found = lock_of_others(range)) {
        highest = found->end - 1;
        range.begin = found->end;
    }
    return highest;
}

std::vector<std::int64_t> LockFile::positions_of_others(ByteRange range) const {
    std::vector<std::int64_t> positions;
    while (auto const highest = highest_of_others(range)) {
        positions.push_back(*highest);
        range.end = *highest;
    }
    return positions;
}

}  // namespace sinew::lease
