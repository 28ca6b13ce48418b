// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include <sinew/error.hpp>

#include "src/base/hex.hpp"
#include "src/base/sha256.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"
#include "src/task/registry.hpp"

namespace sinew::detail {

namespace {

std::string in_hex(Sha256& sha) {
    auto const digest = sha.digest();
    return to_hex(std::as_bytes(std::span(digest)));
}

std::string file_digest(std::string const& path) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    Sha256 sha;
    std::array<char, 1 << 16> piece;
    for (;;) {
        ssize_t const got = file ? ::read(file.get(), piece.data(), piece.size()) : -1;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            throw SystemError(text("cannot read ", path, " (", std::strerror(errno),
                                   "), whose contents stand for the build-id it lacks"),
                              errno);
        if (got == 0) return in_hex(sha);
        sha.add(piece.data(), static_cast<std::size_t>(got));
    }
}

std::string build(Module const& module) {
    return module.build_id.empty() ? "sha256:" + file_digest(module.path) : module.build_id;
}

std::string table_digest(TaskTable const& table) {
    constexpr std::size_t shown = 16;
    Sha256 sha;
    for (auto const& [id, entry] : table.rows) {
        sha.add(&id, sizeof id);
        sha.add(entry->name, std::strlen(entry->name) + 1);
    }
    return in_hex(sha).substr(0, shown);
}

}  // namespace

ProgramIdentity const& program_identity() {
    // Never destroyed: a pool in static storage may start workers until the process has ended.
    static auto const& identity = *[] {
        TaskTable const table = task_table();
        auto const here = reinterpret_cast<std::uintptr_t>(&table_digest);
        std::string builds;
        for (bool first = true; Module const& module : loaded_modules()) {
            bool const holds_tasks = std::ranges::any_of(
                table.modules, [&](Module const& m) { return m.base == module.base; });
            if (first || holds_tasks || module.holds(here))
                builds += (first ? "build " : " + ") + build(module);
            first = false;
        }
        bool const little = std::endian::native == std::endian::little;
        return new ProgramIdentity{text(builds, ", ", table.rows.size(), " tasks (",
                                        table_digest(table), "), ", little ? "little" : "big",
                                        " endian ", 8 * sizeof(void*), " bit")};
    }();
    return identity;
}

}  // namespace sinew::detail
