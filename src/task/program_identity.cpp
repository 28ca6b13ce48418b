// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/base/unique_fd.hpp"
#include "src/task/hex.hpp"
#include "src/task/registry.hpp"

namespace sinew::detail {

namespace {

/// SHA-256, fed piece by piece.
class Digest {
public:
    Digest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
        require(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
    }
    void add(void const* bytes, std::size_t size) {
        require(EVP_DigestUpdate(context_.get(), bytes, size) == 1);
    }
    std::string in_hex() {
        std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
        unsigned size = 0;
        require(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) == 1);
        return hex(bytes.data(), size);
    }

private:
    static void require(bool done) {
        if (!done) throw Unavailable("OpenSSL has no SHA-256 here (is it configured away?)");
    }
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::string file_digest(std::string const& path) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    Digest digest;
    std::array<char, 1 << 16> piece;
    for (;;) {
        ssize_t const got = file ? ::read(file.get(), piece.data(), piece.size()) : -1;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            throw SystemError(text("cannot read ", path, " (", std::strerror(errno),
                                   "), whose contents stand for the build-id it lacks"),
                              errno);
        if (got == 0) return digest.in_hex();
        digest.add(piece.data(), static_cast<std::size_t>(got));
    }
}

std::string build(Module const& module) {
    return module.build_id.empty() ? "sha256:" + file_digest(module.path) : module.build_id;
}

std::string table_digest(TaskTable const& table) {
    constexpr std::size_t shown = 16;
    Digest digest;
    for (auto const& [id, entry] : table.rows) {
        digest.add(&id, sizeof id);
        digest.add(entry->name, std::strlen(entry->name) + 1);
    }
    return digest.in_hex().substr(0, shown);
}

}  // namespace

ProgramIdentity const& program_identity() {
    // Never destroyed: a pool in static storage starts workers until the process is gone.
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
