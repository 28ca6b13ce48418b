// SPDX-License-Identifier: Apache-2.0
#include "src/base/system/secret_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sinew/error.hpp>

#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew {
namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20;
constexpr mode_t others_write = S_IWGRP | S_IWOTH;

bool is_ours_or_roots(struct ::stat const& about) {
    return about.st_uid == 0 || about.st_uid == ::geteuid();
}

// The sticky bit keeps others from replacing the link in a folder such as kubelet makes (1777).
bool is_mounted_volume(std::string const& path) {
    auto const folder = std::filesystem::path(path).parent_path();
    struct ::stat about {
    }, link{};
    if (::stat(folder.empty() ? "." : folder.c_str(), &about) != 0) return false;
    if (::lstat((folder / "..data").c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return false;
    bool const closed = (about.st_mode & others_write) == 0 || (about.st_mode & S_ISVTX) != 0;
    return closed && is_ours_or_roots(about) && is_ours_or_roots(link);
}

}  // namespace

std::string read_secret_file(std::string const& path) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct ::stat about {};
    if (!file || ::fstat(file.get(), &about) != 0)
        throw SystemError(text(path, " cannot be read (", std::strerror(errno), ")"), errno);
    if (!S_ISREG(about.st_mode))
        throw UsageError(text(path, " is not a file (a line with a secret was expected)"));
    bool const alone = about.st_uid == ::geteuid() && (about.st_mode & 077) == 0;
    bool const mounted =
        is_ours_or_roots(about) && (about.st_mode & others_write) == 0 && is_mounted_volume(path);
    if (!alone && !mounted)
        throw UsageError(text(path, " holds a secret and must be yours alone. chmod 600 ", path));
    std::string line;
    std::array<char, 4096> buffer;
    while (line.find('\n') == std::string::npos) {
        ssize_t const count = ::read(file.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0)
            throw SystemError(text(path, " cannot be read (", std::strerror(errno), ")"), errno);
        if (count == 0) break;
        line.append(buffer.data(), static_cast<std::size_t>(count));
        if (line.size() > longest_line)
            throw UsageError(text(path, ": its first line is longer than ", longest_line,
                                  " bytes. Is it the right file?"));
    }
    ::explicit_bzero(buffer.data(), buffer.size());
    if (auto const end = line.find('\n'); end != std::string::npos) line.resize(end + 1);
    return line;
}

std::string read_secret_line(int fd) {
    std::string line;
    std::array<char, 4096> buffer;
    while (line.find('\n') == std::string::npos && line.size() < longest_line) {
        ssize_t const count = ::read(fd, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        line.append(buffer.data(), static_cast<std::size_t>(count));
    }
    ::explicit_bzero(buffer.data(), buffer.size());
    return line;
}

void wipe(std::string& secret) noexcept {
    ::explicit_bzero(secret.data(), secret.size());
    secret.clear();
}

}  // namespace sinew
