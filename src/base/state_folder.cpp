// SPDX-License-Identifier: Apache-2.0
#include "src/base/state_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <sinew/error.hpp>
#include <sinew/task/codec.hpp>

#include "src/base/bytes.hpp"
#include "src/base/sha256.hpp"
#include "src/base/system/io.hpp"
#include "src/base/text.hpp"

namespace sinew {
namespace {

namespace fs = std::filesystem;

constexpr char const* draft_suffix = ".new";
constexpr char const* lock_name = "lock";

/// The header of each file.
struct Head {
    std::array<char, 8> magic;
    std::uint64_t size;
    Sha256::Digest sha256;
};
constexpr std::array<char, 8> magic{'s', 'i', 'n', 'e', 'w', 's', 't', '1'};

Sha256::Digest digest_of(std::span<std::span<std::byte const> const> parts) {
    Sha256 sha;
    for (auto const part : parts) sha.add(part.data(), part.size());
    return sha.digest();
}

}  // namespace

StateFolder::StateFolder(fs::path path) : path_(std::move(path)) {
    auto const what = text("the folder for states ", path_.string(), " cannot be used");
    if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) throw_errno(what);
    folder_ = UniqueFd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder_) throw_errno(what);
    struct stat info {};
    if (::fstat(folder_.get(), &info) != 0) throw_errno(what);
    if (info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        throw UsageError(
            text(what, " (it belongs to user ", info.st_uid, ", mode 0", std::oct,
                 info.st_mode & 07777, std::dec,
                 "). States are read as this program's own: name a folder that only this user, ",
                 ::geteuid(), ", may write to (chmod go-w)"));
    lock_ = UniqueFd(::openat(folder_.get(), lock_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock_) throw_errno(what);
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) throw_errno(what);
        throw UsageError(text(what,
                              " (another process, or another ring or manager of this one, uses "
                              "it). Give each a folder of its own"));
    }
}

std::optional<StateFolder::Bytes> StateFolder::read(std::string const& name) const {
    auto const what = text((path_ / name).string(), " cannot be read");
    // O_NONBLOCK: opening or reading a named pipe must not wait for a writer.
    UniqueFd const file(::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file && errno == ENOENT) return std::nullopt;
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0) throw_errno(what);
    auto const refuse = [&](std::string const& why) {
        throw DecodeError(text((path_ / name).string(),
                               " is damaged, or is not a state that sinew wrote (", why,
                               "). Remove it to start again without it"));
    };
    if (!S_ISREG(info.st_mode)) refuse("it is not a regular file");
    auto const fill = [&](std::span<std::byte> bytes) {
        auto const count = read_all(file.get(), bytes);
        if (count < 0) throw_errno(what);
        return static_cast<std::size_t>(count) == bytes.size();
    };
    Head head{};
    if (!fill(std::as_writable_bytes(std::span(&head, 1))) || head.magic != magic)
        refuse("it does not begin like one");
    if (static_cast<std::uint64_t>(info.st_size) - sizeof head != head.size)
        refuse(text("it has ", static_cast<std::uint64_t>(info.st_size) - sizeof head, " bytes of ",
                    head.size));
    Bytes bytes(head.size);
    if (!fill(bytes)) refuse("it became shorter");
    std::array<std::span<std::byte const>, 1> const whole{bytes};
    if (digest_of(whole) != head.sha256) refuse("its SHA-256 differs");
    return bytes;
}

void StateFolder::write(std::string const& name,
                        std::span<std::span<std::byte const> const> parts) const {
    auto const draft = name + draft_suffix;
    auto const what = text((path_ / draft).string(), " cannot be written");
    Head head{magic, 0, digest_of(parts)};
    for (auto const part : parts) head.size += part.size();
    UniqueFd const file(
        ::openat(folder_.get(), draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file) throw_errno(what);
    try {
        bool written = write_all(file.get(), bytes_of(head));
        for (auto const part : parts) written = written && write_all(file.get(), part);
        if (!written || ::fsync(file.get()) != 0) throw_errno(what);
        if (::renameat(folder_.get(), draft.c_str(), folder_.get(), name.c_str()) != 0)
            throw_errno(what);
    } catch (...) {
        ::unlinkat(folder_.get(), draft.c_str(), 0);
        throw;
    }
    if (::fsync(folder_.get()) != 0) throw_errno(what);
}

void StateFolder::remove(std::string const& name) const {
    if (::unlinkat(folder_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
        throw_errno(text((path_ / name).string(), " cannot be removed"));
}

std::vector<std::string> StateFolder::names() const {
    // std::filesystem's iterator ends the process if there is no memory for it (libstdc++ 12).
    struct Close {
        void operator()(DIR* folder) const { ::closedir(folder); }
    };
    auto const what = text(path_.string(), " cannot be read");
    std::unique_ptr<DIR, Close> const folder(::opendir(path_.c_str()));
    if (!folder) throw_errno(what);
    std::vector<std::string> found;
    for (;;) {
        errno = 0;
        dirent const* const each = ::readdir(folder.get());
        if (each == nullptr) break;
        std::string_view const name = each->d_name;
        if (name != "." && name != ".." && name != lock_name && !name.ends_with(draft_suffix))
            found.emplace_back(name);
    }
    if (errno != 0) throw_errno(what);
    std::ranges::sort(found);
    return found;
}

}  // namespace sinew
