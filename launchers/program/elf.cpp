// SPDX-License-Identifier: Apache-2.0
#include "launchers/program/elf.hpp"

#include <elf.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>

namespace sinew::launch {

namespace {

// Limits far above those of real programs, so that a hostile file cannot cost memory or time.
constexpr std::size_t most_segments = 1024;
constexpr std::size_t most_entries = 65536;
constexpr std::size_t longest_text = 4096;

struct Layout64 {
    using Header = Elf64_Ehdr;
    using Segment = Elf64_Phdr;
    using Entry = Elf64_Dyn;
};
struct Layout32 {
    using Header = Elf32_Ehdr;
    using Segment = Elf32_Phdr;
    using Entry = Elf32_Dyn;
};

template <class Value>
bool read_value(ElfSource const& source, std::uint64_t offset, Value& value) {
    return source(offset, std::as_writable_bytes(std::span(&value, 1)));
}

/// Reads the text at `offset` up to its NUL. Returns nothing if the file ends first or it is too
/// long.
std::optional<std::string> read_text(ElfSource const& source, std::uint64_t offset) {
    std::string text;
    std::array<char, 64> chunk;
    while (text.size() < longest_text) {
        // A whole chunk may not fit near the end of the file; bytes are then read one by one.
        std::size_t const count =
            source(offset + text.size(), std::as_writable_bytes(std::span(chunk))) ? chunk.size()
                                                                                   : 1;
        if (count == 1 && !read_value(source, offset + text.size(), chunk[0])) return std::nullopt;
        std::string_view const piece(chunk.data(), count);
        auto const end = piece.find('\0');
        text += piece.substr(0, end);
        if (end != std::string_view::npos) return text;
    }
    return std::nullopt;
}

template <class Layout>
class ElfReader {
public:
    explicit ElfReader(ElfSource const& source) : source_(source) {}

    Elf read() {
        Elf elf{.kind = Elf::Kind::malformed, .interpreter = {}, .needed = {}};
        if (!read_segments()) return elf;
        for (auto const& segment : segments_) {
            if (segment.p_type == PT_INTERP && !read_interpreter(segment, elf)) return elf;
            if (segment.p_type == PT_DYNAMIC && !read_dynamic(segment, elf)) return elf;
        }
        bool const wants = !elf.interpreter.empty() || !elf.needed.empty();
        elf.kind = wants ? Elf::Kind::dynamic : Elf::Kind::fixed;
        return elf;
    }

private:
    using Segment = typename Layout::Segment;

    bool read_segments() {
        typename Layout::Header header{};
        if (!read_value(source_, 0, header)) return false;
        if (header.e_phnum == 0) return true;
        if (header.e_phentsize != sizeof(Segment) || header.e_phnum > most_segments) return false;
        segments_.resize(header.e_phnum);
        return source_(header.e_phoff, std::as_writable_bytes(std::span(segments_)));
    }

    bool read_interpreter(Segment const& segment, Elf& elf) const {
        auto path = read_text(source_, segment.p_offset);
        if (!path || path->size() >= segment.p_filesz) return false;
        elf.interpreter = std::move(*path);
        return true;
    }

    bool read_dynamic(Segment const& segment, Elf& elf) const {
        std::vector<std::uint64_t> names;
        std::optional<std::uint64_t> table;
        std::uint64_t table_size = 0;
        std::size_t const count = segment.p_filesz / sizeof(typename Layout::Entry);
        if (count > most_entries) return false;
        for (std::size_t index = 0; index < count; ++index) {
            typename Layout::Entry entry{};
            if (!read_value(source_, segment.p_offset + index * sizeof(entry), entry)) return false;
            if (entry.d_tag == DT_NULL) break;
            if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
            if (entry.d_tag == DT_STRTAB) table = in_file(entry.d_un.d_ptr);
            if (entry.d_tag == DT_STRSZ) table_size = entry.d_un.d_val;
        }
        if (names.empty()) return true;
        if (!table) return false;
        for (auto const name : names) {
            if (name >= table_size) return false;
            auto text = read_text(source_, *table + name);
            if (!text) return false;
            elf.needed.push_back(std::move(*text));
        }
        return true;
    }

    /// Translates an address of the running program to an offset in the file.
    std::optional<std::uint64_t> in_file(std::uint64_t address) const {
        for (auto const& segment : segments_)
            if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                address - segment.p_vaddr < segment.p_filesz)
                return segment.p_offset + (address - segment.p_vaddr);
        return std::nullopt;
    }

    ElfSource const& source_;
    std::vector<Segment> segments_;
};

}  // namespace

Elf read_elf(ElfSource const& source) {
    std::array<unsigned char, EI_NIDENT> ident{};
    Elf elf;
    if (!read_value(source, 0, ident) || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0)
        return elf;
    constexpr unsigned char ours =
        std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    elf.kind = Elf::Kind::foreign;
    if (ident[EI_DATA] != ours) return elf;
    if (ident[EI_CLASS] == ELFCLASS64) return ElfReader<Layout64>(source).read();
    if (ident[EI_CLASS] == ELFCLASS32) return ElfReader<Layout32>(source).read();
    return elf;
}

Elf read_elf_file(int fd) {
    return read_elf([fd](std::uint64_t offset, std::span<std::byte> into) {
        while (!into.empty()) {
            auto const count = ::pread(fd, into.data(), into.size(), static_cast<::off_t>(offset));
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) return false;
            offset += static_cast<std::uint64_t>(count);
            into = into.subspan(static_cast<std::size_t>(count));
        }
        return true;
    });
}

}  // namespace sinew::launch
