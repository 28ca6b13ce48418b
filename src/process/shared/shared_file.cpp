// SPDX-License-Identifier: Apache-2.0
#include "src/process/shared/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::process {
namespace {

// A write() takes 2 GiB at most; smaller parts let signals interrupt it sooner.
constexpr std::size_t largest_write = std::size_t{64} << 20;

[[noreturn]] void refuse_shared_file(std::size_t size, std::string const& step) {
    int const error = errno;
    throw SystemError(
        text(size, " bytes cannot be shared between processes (", step, ": ", std::strerror(error),
             "). ",
             error == EMFILE || error == ENFILE
                 ? "Raise the limit of open files (ulimit -n), or share fewer objects"
                 : "Is enough memory left? SINEW_TMPDIR names a folder to use instead"),
        error);
}

UniqueFd open_nameless(std::string const& folder, std::size_t size) {
    if (folder.empty()) {
        UniqueFd file(::memfd_create("sinew-shared", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        if (!file) refuse_shared_file(size, "memfd_create");
        return file;
    }
    static std::atomic<std::uint64_t> count = 0;
    auto const path = text(folder, "/shared-", ++count);
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) refuse_shared_file(size, "open " + path);
    if (::unlink(path.c_str()) != 0) refuse_shared_file(size, "unlink " + path);
    return file;
}

std::optional<SharedBytes> map_read_only(int file, std::size_t size) {
    if (size == 0) return SharedBytes{std::make_shared<char>(), {}};
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) return std::nullopt;
    std::shared_ptr<void const> keeper(at, [size](void* begin) { ::munmap(begin, size); });
    return SharedBytes{std::move(keeper), {static_cast<std::byte const*>(at), size}};
}

}  // namespace

SharedFile SharedFile::make(std::initializer_list<std::span<std::byte const>> parts,
                            std::string const& folder) {
    std::size_t size = 0;
    for (auto const part : parts) size += part.size();
    SharedFile made;
    made.file_ = open_nameless(folder, size);
    int const file = made.file_.get();
    for (auto rest : parts)
        while (!rest.empty()) {
            auto const count = ::write(file, rest.data(), std::min(rest.size(), largest_write));
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) refuse_shared_file(size, "write");
            rest = rest.subspan(static_cast<std::size_t>(count));
        }
    // Processes that map it can rely on its size and content. Files in folders cannot be sealed.
    if (folder.empty())
        ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    struct stat is {};
    if (::fstat(file, &is) != 0) refuse_shared_file(size, "fstat");
    made.place_ = {::getpid(), file, is.st_dev, is.st_ino, size};
    auto mapped = map_read_only(file, size);
    if (!mapped) refuse_shared_file(size, "mmap");
    made.bytes_ = *std::move(mapped);
    return made;
}

std::optional<SharedBytes> map_shared_file(FilePlace const& place) {
    if (!place.is_file()) return std::nullopt;
    auto const path = text("/proc/", place.process, "/fd/", place.descriptor);
    // The descriptor may have been reused: do not block on a FIFO, or act on a device.
    struct stat is {};
    auto const is_it = [&] {
        return S_ISREG(is.st_mode) && is.st_dev == place.device && is.st_ino == place.inode &&
               static_cast<std::uint64_t>(is.st_size) == place.size;
    };
    if (::stat(path.c_str(), &is) != 0 || !is_it()) return std::nullopt;
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file || ::fstat(file.get(), &is) != 0 || !is_it()) return std::nullopt;
    return map_read_only(file.get(), place.size);
}

std::optional<SharedBytes> map_shared_file(int descriptor) {
    struct stat is {};
    if (::fstat(descriptor, &is) != 0) return std::nullopt;
    return map_read_only(descriptor, static_cast<std::size_t>(is.st_size));
}

}  // namespace sinew::process
