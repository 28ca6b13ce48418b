// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sinew::launch {

/// What the header of a program or library says about the libraries it wants.
struct Elf {
    enum class Kind : std::uint8_t {
        not_elf,
        foreign,    ///< of another byte order: not for this machine
        malformed,  ///< begins as ELF, then does not hold together
        fixed,      ///< statically linked, or wants no library at all
        dynamic,
    };
    Kind kind = Kind::not_elf;
    std::string interpreter;          ///< the dynamic loader (PT_INTERP)
    std::vector<std::string> needed;  ///< DT_NEEDED, in order
};

/// Fills the span from this offset of the file; false if there are not as many bytes.
using ElfSource = std::function<bool(std::uint64_t offset, std::span<std::byte> into)>;

/// Reads 32 and 64 bit headers without trust in any number in there.
Elf read_elf(ElfSource const& source);
Elf read_elf_file(int fd);

}  // namespace sinew::launch
