// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/lease/locks/process_fd.hpp"

namespace sinew::lease {

/// A range of byte positions in the lock file, which stays empty: locks may lie beyond its end.
struct ByteRange {
    std::int64_t begin = 0, end = 0;
    bool operator==(ByteRange const&) const = default;
};

enum class LockKind : std::uint8_t { shared, exclusive };

/// An open file description of the lock file of a folder, and what it has locked. The kernel keeps
/// the locks (open file description locks, F_OFD_SETLK) and drops them when the last descriptor is
/// closed, at the latest when the process has ended, however that happens. Nothing is ever written
/// to the file, so that no crash can leave it inconsistent.
class LockFile {
public:
    /// Opens `folder`/leases, and creates both if they are missing, for all users. Throws
    /// SystemError, and Unavailable if file locks do not work there.
    explicit LockFile(std::string const& folder);

    /// Locks the range unless somebody else has a part of it. Throws SystemError.
    bool try_lock(ByteRange range, LockKind kind = LockKind::exclusive) const;
    /// Throws SystemError.
    void unlock(ByteRange range) const;
    /// Gives up all locks at the same time, also those that copies of the descriptor in forked
    /// children keep.
    void unlock_all() const noexcept;
    /// A lock of somebody else that touches the range, cut to it: any of them, not the first.
    /// `against` is the kind of lock that it would prevent.
    std::optional<ByteRange> lock_of_others(ByteRange range,
                                            LockKind against = LockKind::exclusive) const;
    /// The highest position in the range that somebody else has locked.
    std::optional<std::int64_t> highest_of_others(ByteRange range) const;
    /// All of them, falling.
    std::vector<std::int64_t> positions_of_others(ByteRange range) const;

    std::string const& path() const { return path_; }
    int fd() const { return file_.get(); }
    /// Gives the descriptor up without closing it.
    int release() { return file_.release(); }

private:
    std::string path_;
    ProcessFd folder_;
    ProcessFd file_;
};

}  // namespace sinew::lease
