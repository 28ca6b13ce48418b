// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sinew::launch {

/// The library dependencies in the header of a program or library.
struct Elf {
    enum class Kind : std::uint8_t {
        not_elf,
        foreign,    ///< has another byte order, so it cannot run on this machine
        malformed,  ///< begins as ELF, but is inconsistent
        fixed,      ///< statically linked, or needs no library
        dynamic,
    };
    Kind kind = Kind::not_elf;
    std::string interpreter;          ///< the dynamic loader (PT_INTERP)
    std::vector<std::string> needed;  ///< DT_NEEDED, in order
};

/// Fills the span from this offset of the file. Returns false if the file has fewer bytes.
using ElfSource = std::function<bool(std::uint64_t offset, std::span<std::byte> into)>;

/// Reads 32-bit and 64-bit headers. All numbers in them are checked before use.
Elf read_elf(ElfSource const& source);
Elf read_elf_file(int fd);

}  // namespace sinew::launch
