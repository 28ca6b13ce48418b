// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/system/unique_fd.hpp"

namespace sinew {

/// Stores states as files in a folder that the user chooses, so that they survive the end of their
/// process and a power failure. A write replaces a file atomically. Only one StateFolder at a time,
/// in any process, can hold a folder.
class StateFolder {
public:
    using Bytes = std::vector<std::byte>;

    /// Creates the folder (mode 0700) if it does not exist, and locks it. Throws SystemError, or
    /// UsageError if the folder is locked, belongs to another user or is writable by others.
    explicit StateFolder(std::filesystem::path path);

    /// Returns nothing if there is no such state. Throws SystemError; DecodeError if it is damaged.
    std::optional<Bytes> read(std::string const& name) const;
    /// Writes the parts one after the other and returns when they are on the disk. Thread-safe for
    /// different names. Throws SystemError; the file is unchanged, unless only syncing the folder
    /// failed.
    void write(std::string const& name, std::span<std::span<std::byte const> const> parts) const;
    void remove(std::string const& name) const;
    /// Returns the names of all states, sorted.
    std::vector<std::string> names() const;

    std::filesystem::path const& path() const { return path_; }

private:
    std::filesystem::path path_;
    UniqueFd folder_, lock_;
};

}  // namespace sinew
