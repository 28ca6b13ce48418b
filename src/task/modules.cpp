// SPDX-License-Identifier: Apache-2.0
#include "src/task/modules.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "src/base/hex.hpp"

namespace sinew::detail {

namespace {

/// Returns the build-id, in hex, from a segment of ELF notes; empty if there is none.
std::string build_id_among(char const* notes, std::size_t size, std::size_t alignment) {
    auto const aligned = [alignment](std::size_t n) {
        return (n + alignment - 1) / alignment * alignment;
    };
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        std::memcpy(&note, notes, sizeof note);
        std::size_t const name = sizeof note, value = name + aligned(note.n_namesz);
        std::size_t const whole = value + aligned(note.n_descsz);
        if (whole > size) break;
        if (note.n_type == NT_GNU_BUILD_ID &&
            std::string_view(notes + name, note.n_namesz) == std::string_view("GNU", 4))
            return to_hex(std::as_bytes(std::span(notes + value, note.n_descsz)));
        notes += whole;
        size -= whole;
    }
    return {};
}

int add_module(dl_phdr_info* info, std::size_t, void* modules) {
    Module module;
    module.path = info->dlpi_name;
    module.base = info->dlpi_addr;
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; ++i) {
        auto const& segment = info->dlpi_phdr[i];
        std::uintptr_t const first = info->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD) module.segments.emplace_back(first, first + segment.p_memsz);
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0)
            module.code.emplace_back(first, first + segment.p_memsz);
        if (segment.p_type == PT_NOTE && module.build_id.empty())
            module.build_id = build_id_among(reinterpret_cast<char const*>(first), segment.p_memsz,
                                             segment.p_align == 8 ? 8 : 4);
    }
    static_cast<std::vector<Module>*>(modules)->push_back(std::move(module));
    return 0;
}

bool any_holds(std::vector<std::pair<std::uintptr_t, std::uintptr_t>> const& segments,
               std::uintptr_t address) {
    return std::ranges::any_of(
        segments, [=](auto const& s) { return s.first <= address && address < s.second; });
}

}  // namespace

bool Module::holds(std::uintptr_t address) const { return any_holds(segments, address); }
bool Module::holds_code(std::uintptr_t address) const { return any_holds(code, address); }

std::vector<Module> loaded_modules() {
    std::vector<Module> modules;
    ::dl_iterate_phdr(add_module, &modules);
    if (!modules.empty()) modules.front().path = "/proc/self/exe";  // it is unnamed there
    return modules;
}

}  // namespace sinew::detail
