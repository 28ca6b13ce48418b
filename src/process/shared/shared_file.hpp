// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "src/base/system/unique_fd.hpp"

namespace sinew::process {

/// Bytes, and what keeps them alive.
struct SharedBytes {
    std::shared_ptr<void const> keeper;
    std::span<std::byte const> bytes;
};

/// Where processes of the same host find a SharedFile: a descriptor of a process that holds it, and
/// what distinguishes the file from a later one with the same numbers. Encodable as its bytes.
struct FilePlace {
    std::int32_t process = 0;
    std::int32_t descriptor = -1;  ///< -1: there is no file
    std::uint64_t device = 0, inode = 0;
    std::uint64_t size = 0;  ///< in bytes

    bool is_file() const { return descriptor >= 0; }
};

/// Bytes in memory that processes of a host map. The file has no name: the kernel frees it when the
/// last process that holds or maps it has ended. Thread-safe.
class SharedFile {
public:
    /// Copies the bytes, read-only from now on, into memory or into an unlinked file of `folder`;
    /// an empty folder means memory. Throws SystemError.
    static SharedFile make(std::span<std::byte const> bytes, std::string const& folder = "") {
        return make(std::initializer_list<std::span<std::byte const>>{bytes}, folder);
    }
    /// Copies the parts in a row.
    static SharedFile make(std::initializer_list<std::span<std::byte const>> parts,
                           std::string const& folder = "");

    FilePlace const& place() const { return place_; }
    SharedBytes const& bytes() const { return bytes_; }

private:
    UniqueFd file_;
    FilePlace place_;
    SharedBytes bytes_;
};

/// Maps the file, read-only. Returns nothing if it no longer exists, or cannot be seen from here
/// (in another PID namespace, or if this process may not look at the other's descriptors).
std::optional<SharedBytes> map_shared_file(FilePlace const& place);

/// The same for a descriptor of this process, which can be closed afterwards.
std::optional<SharedBytes> map_shared_file(int descriptor);

}  // namespace sinew::process
