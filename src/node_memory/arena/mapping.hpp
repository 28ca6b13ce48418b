// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "src/base/system/unique_fd.hpp"

namespace sinew::node_memory {

/// Where memory comes from: an anonymous file that the kernel frees with its last user, or POSIX
/// shared memory, whose name is removed as soon as all ranks have opened it.
enum class Source : std::uint8_t { memfd, posix };

/// What other processes of the node need to open a mapping. Sent as it is; it is no secret, because
/// only processes of the same user can open the file.
struct MappingName {
    std::array<unsigned char, 16> nonce{};  ///< in the first bytes of the memory as well
    std::uint64_t bytes = 0;                ///< 0: there is no memory
    std::int64_t pid = 0;                   ///< of the process that has made it
    std::int32_t fd = -1;                   ///< its descriptor there
    Source source = Source::memfd;
};

/// Memory that processes of one node share. It is sparse: pages are taken when they are written.
class Mapping {
public:
    /// Makes memory. Throws std::system_error.
    static std::shared_ptr<Mapping> make(Source source, std::uint64_t bytes);
    /// Opens the memory of another rank, or the same object if a thread of this process has made
    /// it. Throws std::system_error, or Unavailable if what was found is other memory.
    static std::shared_ptr<Mapping> open(MappingName const& name);
    Mapping(Mapping const&) = delete;
    Mapping& operator=(Mapping const&) = delete;
    ~Mapping();

    MappingName const& name() const { return name_; }
    std::byte* data() const { return data_; }
    std::uint64_t bytes() const { return name_.bytes; }
    /// Removes the name of POSIX memory, which all ranks have opened by now. Each destructor does so,
    /// too: a maker that was killed leaves no name if another rank has opened the memory.
    /// Closes the descriptor of an anonymous file, through which they have done so.
    void unlink() noexcept;
    /// Takes the pages of a range. Only POSIX memory needs it, whose file system may be small.
    /// Throws std::system_error if there is not enough.
    void reserve(std::uint64_t offset, std::uint64_t bytes);
    /// Frees the pages of a range, which then reads as zeros.
    void clear(std::uint64_t offset, std::uint64_t bytes) noexcept;

private:
    Mapping(UniqueFd fd, MappingName const& name);

    UniqueFd fd_;
    MappingName name_;
    std::byte* data_ = nullptr;
    std::atomic<bool> linked_{false};
};

}  // namespace sinew::node_memory
