// SPDX-License-Identifier: Apache-2.0
#include "k8s/config/files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>

#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {

std::string read_file(std::string const& path, std::string const& what) {
    constexpr std::size_t most = std::size_t(1) << 20;
    auto const refuse = [&](std::string const& why) {
        throw UsageError(text(what, " ", path, " cannot be read: ", why));
    };
    // Without waiting, in case it is a fifo.
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat about {};
    if (!file || ::fstat(file.get(), &about) != 0) refuse(std::strerror(errno));
    if (!S_ISREG(about.st_mode) && !S_ISFIFO(about.st_mode)) refuse("it is not a file");
    std::string contents;
    std::array<char, 65536> buffer{};
    for (;;) {
        // A fifo, as the shell's <(...), has a writer that needs its time.
        pollfd wait{file.get(), POLLIN, 0};
        if (::poll(&wait, 1, 10'000) == 0) refuse("nothing was written to it within 10 s");
        auto const count = ::read(file.get(), buffer.data(), buffer.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count < 0) refuse(std::strerror(errno));
        if (count == 0) return contents;
        contents.append(buffer.data(), std::size_t(count));
        if (contents.size() > most) refuse(text("it has more than ", most, " bytes"));
    }
}

bool file_exists(std::string const& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace sinew::k8s
