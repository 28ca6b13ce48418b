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

/// A folder of the user's choice, where states outlive the processes that they are of, and the machine's
/// power. Each file is there whole, or as it was before. One process at a time has the folder.
class StateFolder {
public:
    using Bytes = std::vector<std::byte>;

    /// Makes it, for this user alone (0700), where there is none. Throws SystemError; UsageError: another
    /// process has it, it is somebody else's, or others may write to it.
    explicit StateFolder(std::filesystem::path path);

    /// Nothing: there is none of that name. Throws SystemError; DecodeError: it is damaged.
    std::optional<Bytes> read(std::string const& name) const;
    /// Returns when it is on the disk: one part after the other. Any thread; one at a time for one name.
    /// Throws SystemError, and the file is as it was.
    void write(std::string const& name, std::span<std::span<std::byte const> const> parts) const;
    void remove(std::string const& name) const;
    /// Of all files, in order.
    std::vector<std::string> names() const;

    std::filesystem::path const& path() const { return path_; }

private:
    std::filesystem::path path_;
    UniqueFd folder_, lock_;
};

}  // namespace sinew
