// SPDX-License-Identifier: Apache-2.0
//
// `sinew run` reads the header of any program it starts: it must finish, within bounds, and report
// only what is in the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "launchers/program/elf.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    using sinew::launch::Elf;
    auto const elf = sinew::launch::read_elf([&](std::uint64_t offset, std::span<std::byte> into) {
        if (offset > size || into.size() > size - offset) return false;
        if (!into.empty()) std::memcpy(into.data(), data + offset, into.size());
        return true;
    });
    if (elf.kind != Elf::Kind::dynamic && elf.kind != Elf::Kind::malformed &&
        !(elf.needed.empty() && elf.interpreter.empty()))
        std::abort();
    for (auto const& name : elf.needed)
        if (name.size() > size) std::abort();
    return 0;
}
