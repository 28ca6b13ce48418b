// SPDX-License-Identifier: Apache-2.0
#include "src/process/auth_key.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>

#include "src/base/system/io.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew {
namespace {

constexpr std::size_t shortest = 16, longest = 4096;

[[noreturn]] void refuse(std::string const& path, std::string const& why) {
    throw UsageError(
        text("the key in ", path, " is not used (", why,
             "). It must be a file of your own with mode 0600, as AuthKey::save makes it"));
}

[[noreturn]] void throw_failed(std::string const& path, char const* what) {
    int const error = errno;
    throw_errno(text("the key file ", path, " cannot be ", what),
                "Does its folder exist, and may you use it?", error);
}

UniqueFd open_own(std::string const& path) {
    // O_NONBLOCK: opening a FIFO must not block.
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) throw_failed(path, "opened");
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) throw_failed(path, "examined");
    if (!S_ISREG(info.st_mode)) refuse(path, "it is not a regular file");
    if (info.st_uid != ::geteuid()) refuse(path, text("it belongs to user ", info.st_uid));
    if ((info.st_mode & 077) != 0) refuse(path, "users other than its owner may access it");
    return file;
}

}  // namespace

AuthKey AuthKey::random() { return AuthKey(wire::Secret::random().hex()); }

AuthKey AuthKey::of(std::string_view bytes) {
    if (bytes.size() < shortest)
        throw UsageError(text("a key of ", bytes.size(), " bytes (must be at least ", shortest,
                              "). AuthKey::random() makes a good one"));
    return AuthKey(std::string(bytes));
}

AuthKey AuthKey::from_file(std::string const& path) {
    auto const file = open_own(path);
    std::array<char, longest + 1> buffer{};
    auto const count = read_all(file.get(), std::as_writable_bytes(std::span(buffer)));
    if (count < 0) throw_failed(path, "read");
    auto const size = static_cast<std::size_t>(count);
    std::string_view bytes(buffer.data(), size);
    if (size > longest) refuse(path, text("it has more than ", longest, " bytes"));
    if (bytes.ends_with('\n')) bytes.remove_suffix(1);
    if (bytes.size() < shortest)
        refuse(path, text("it has ", bytes.size(), " bytes, and must have at least ", shortest));
    AuthKey key{std::string(bytes)};
    ::explicit_bzero(buffer.data(), buffer.size());
    return key;
}

AuthKey::~AuthKey() { ::explicit_bzero(bytes_.data(), bytes_.size()); }

void AuthKey::save(std::string const& path) const {
    UniqueFd const file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) throw_failed(path, "made");
    auto words = bytes_ + '\n';
    bool const whole =
        ::write(file.get(), words.data(), words.size()) == static_cast<ssize_t>(words.size());
    ::explicit_bzero(words.data(), words.size());
    if (whole) return;
    ::unlink(path.c_str());
    throw_failed(path, "written");
}

// HKDF-Extract with a salt of zeros; the key is the input keying material.
wire::Secret process::secret_of(AuthKey const& key) {
    auto const salt = wire::Secret::from_hex(std::string(64, '0'));
    return salt.derive(text("sinew guests 1 ", key.bytes()));
}

}  // namespace sinew
