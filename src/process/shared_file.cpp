// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/base/unique_fd.hpp"
#include "src/process/shared_desk.hpp"

namespace sinew::process {
namespace {

SharedBytes map(int fd, std::size_t size) {
    if (size == 0) return {std::make_shared<char>(), {}};
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return {};
    std::shared_ptr<void const> keeper(at, [size](void* begin) { ::munmap(begin, size); });
    return {std::move(keeper), {static_cast<std::byte const*>(at), size}};
}

}  // namespace

SharedBytes map_new_file(std::string const& path, std::span<std::byte const> bytes) {
    auto const refuse = [&](char const* call) {
        int const error = errno;
        ::unlink(path.c_str());
        throw SystemError(
            text(bytes.size(), " bytes cannot be shared (", call, " ", path, ": ",
                 std::strerror(error), "). Is /dev/shm full? SINEW_TMPDIR names another folder"),
            error);
    };
    UniqueFd const file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) refuse("open");
    for (auto rest = bytes; !rest.empty();) {
        auto const count = ::write(file.get(), rest.data(), rest.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) refuse("write");
        rest = rest.subspan(static_cast<std::size_t>(count));
    }
    auto mapped = map(file.get(), bytes.size());
    if (!mapped.keeper) refuse("mmap");
    return mapped;
}

SharedBytes map_file(std::string const& path, std::size_t size) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct stat is {};
    if (!file || ::fstat(file.get(), &is) != 0 || static_cast<std::size_t>(is.st_size) != size)
        return {};
    return map(file.get(), size);
}

}  // namespace sinew::process
