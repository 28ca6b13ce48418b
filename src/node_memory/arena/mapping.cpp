// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/arena/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <system_error>

#include <sinew/error.hpp>

#include "src/base/hex.hpp"
#include "src/base/text.hpp"

namespace sinew::node_memory {

namespace {

constexpr std::uint64_t huge_page = std::uint64_t{2} << 20;

[[noreturn]] void fail(std::string const& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

std::string posix_name(MappingName const& name) {
    return text("/sinew-",
                to_hex({reinterpret_cast<std::byte const*>(name.nonce.data()), name.nonce.size()}));
}

UniqueFd open_posix(MappingName const& name, int flags) {
    UniqueFd fd(::shm_open(posix_name(name).c_str(), flags, 0600));
    if (!fd) fail(text("shm_open ", posix_name(name)));
    return fd;
}

UniqueFd open_existing(MappingName const& name) {
    if (name.source == Source::posix) return open_posix(name, O_RDWR | O_CLOEXEC);
    std::string const path = text("/proc/", name.pid, "/fd/", name.fd);
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd) fail(text("open ", path));
    return fd;
}

/// The mappings of this process, for ranks that are its threads.
struct Known {
    std::mutex mutex;
    std::map<std::array<unsigned char, 16>, std::weak_ptr<Mapping>> by_nonce;
};
Known& known() {
    static Known& all = *new Known;  // outlives static objects that own mappings
    return all;
}

}  // namespace

Mapping::Mapping(UniqueFd fd, MappingName const& name) : fd_(std::move(fd)), name_(name) {
    // At a multiple of a huge page in every process, so that each can map the memory's huge pages.
    std::uint64_t const reserved = name_.bytes + huge_page;
    void* const space =
        ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) fail(text("mmap of ", reserved, " bytes of address space"));
    auto* const begin = static_cast<std::byte*>(space);
    std::uint64_t const skipped =
        (huge_page - reinterpret_cast<std::uintptr_t>(begin) % huge_page) % huge_page;
    void* const memory = ::mmap(begin + skipped, name_.bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd_.get(), 0);
    if (memory == MAP_FAILED) {
        int const error = errno;
        ::munmap(space, reserved);
        errno = error;
        fail(text("mmap of ", name_.bytes, " bytes of shared memory"));
    }
    data_ = static_cast<std::byte*>(memory);
    if (skipped > 0) ::munmap(begin, skipped);
    ::munmap(data_ + (name_.bytes + 4095) / 4096 * 4096,
             reserved - skipped - (name_.bytes + 4095) / 4096 * 4096);
    ::madvise(memory, name_.bytes, MADV_DONTDUMP);
}

Mapping::~Mapping() {
    unlink();
    if (data_ != nullptr) ::munmap(data_, name_.bytes);
}

std::shared_ptr<Mapping> Mapping::make(Source source, std::uint64_t bytes) {
    rlimit longest{};
    if (::getrlimit(RLIMIT_FSIZE, &longest) == 0 && longest.rlim_cur < bytes) {
        errno = EFBIG;  // ftruncate would send SIGXFSZ
        fail(text("shared memory of ", bytes, " bytes (ulimit -f allows ", longest.rlim_cur, ")"));
    }
    MappingName name{.bytes = bytes, .pid = ::getpid(), .source = source};
    if (::getrandom(name.nonce.data(), name.nonce.size(), 0) != std::ssize(name.nonce))
        fail("getrandom");
    UniqueFd fd = source == Source::posix
                      ? open_posix(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC)
                      : UniqueFd(::memfd_create("sinew", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd) fail("memfd_create");
    name.fd = fd.get();
    ::fchmod(fd.get(), 0600);  // a memfd begins with access for all who reach its descriptor
    bool const sized = ::ftruncate(fd.get(), static_cast<::off_t>(bytes)) == 0;
    int const error = errno;
    // No process can take memory away from the others, which would then end by SIGBUS.
    if (source == Source::memfd)
        ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    if (!sized) {
        if (source == Source::posix) ::shm_unlink(posix_name(name).c_str());
        errno = error;
        fail(text("ftruncate of shared memory to ", bytes, " bytes"));
    }
    std::shared_ptr<Mapping> mapping;
    try {
        mapping.reset(new Mapping(std::move(fd), name));
    } catch (...) {
        if (source == Source::posix) ::shm_unlink(posix_name(name).c_str());
        throw;
    }
    mapping->linked_ = source == Source::posix;
    mapping->reserve(0, 4096);
    std::memcpy(mapping->data_, name.nonce.data(), name.nonce.size());
    std::lock_guard const lock(known().mutex);
    known().by_nonce[name.nonce] = mapping;
    return mapping;
}

std::shared_ptr<Mapping> Mapping::open(MappingName const& name) {
    {
        std::lock_guard const lock(known().mutex);
        std::erase_if(known().by_nonce, [](auto const& entry) { return entry.second.expired(); });
        if (auto const found = known().by_nonce.find(name.nonce); found != known().by_nonce.end())
            if (auto mapping = found->second.lock()) return mapping;
    }
    UniqueFd fd = open_existing(name);
    ::off_t const size = ::lseek(fd.get(), 0, SEEK_END);
    std::array<unsigned char, 16> nonce{};
    // Another process may have this number in another pid namespace: its file is not ours.
    if (size != static_cast<::off_t>(name.bytes) ||
        ::pread(fd.get(), nonce.data(), nonce.size(), 0) != std::ssize(nonce) ||
        nonce != name.nonce)
        throw Unavailable(text("descriptor ", name.fd, " of process ", name.pid,
                               " is not the shared memory of this node's first rank (do the ranks "
                               "have pid namespaces of their own?)"));
    std::shared_ptr<Mapping> mapping(new Mapping(std::move(fd), name));
    mapping->linked_ = name.source == Source::posix;  // if its maker dies, this process removes it
    if (name.source == Source::memfd)
        mapping->fd_ = UniqueFd();  // it lives as long as it is mapped
    return mapping;
}

void Mapping::unlink() noexcept {
    if (linked_.exchange(false)) ::shm_unlink(posix_name(name_).c_str());
    // An anonymous file lives as long as it is mapped; a process may have many communicators.
    if (name_.source == Source::memfd) fd_ = UniqueFd();
}

void Mapping::reserve(std::uint64_t offset, std::uint64_t bytes) {
    if (name_.source != Source::posix) return;
    int const error =
        ::posix_fallocate(fd_.get(), static_cast<::off_t>(offset), static_cast<::off_t>(bytes));
    if (error == 0) return;
    errno = error;
    fail(text(bytes, " bytes of /dev/shm"));
}

void Mapping::clear(std::uint64_t offset, std::uint64_t bytes) noexcept {
    ::madvise(data_ + offset, bytes, MADV_REMOVE);
}

}  // namespace sinew::node_memory
