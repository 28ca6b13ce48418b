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

// The kubelet makes a file of a volume a link to ..data/FILE, and ..data one to a folder beside it.
bool in_kubernetes_volume(std::string const& path) {
    std::error_code none;
    return std::filesystem::is_symlink(std::filesystem::path(path).parent_path() / "..data", none);
}

}  // namespace

std::string read_line(int fd) {
    constexpr std::size_t longest = std::size_t{1} << 20;
    std::string line;
    std::array<char, 4096> buffer;
    while (line.find('\n') == std::string::npos && line.size() < longest) {
        ssize_t const count = ::read(fd, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        line.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return line.substr(0, line.find('\n'));
}

std::string read_secret_file(std::string const& path) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct ::stat about {};
    if (!file || ::fstat(file.get(), &about) != 0)
        throw SystemError(text(path, " cannot be read (", std::strerror(errno), ")"), errno);
    bool const mine = about.st_uid == ::getuid() && (about.st_mode & 077) == 0;
    bool const mounted = in_kubernetes_volume(path) &&
                         (about.st_uid == ::getuid() || about.st_uid == 0) &&
                         (about.st_mode & 022) == 0;
    if (!mine && !mounted)
        throw UsageError(text(path, " holds a secret and must be yours alone. chmod 600 ", path));
    return read_line(file.get());
}

}  // namespace sinew
