// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/shared_page.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

std::byte* map_and_close(int file, std::size_t bytes) {
    if (file < 0) return nullptr;
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace

// Ranks that are threads map it once each, too: two mappings of a page are the same cache lines.
SharedPage::SharedPage(Communicator& comm, std::size_t lines) : bytes_(lines * line_bytes) {
    std::array<char, 32> unique{};
    bool const owner = comm.rank() == 0;
    if (owner) {
        std::random_device random;
        std::string const name = text("/sinew-bench-", std::hex, random(), random());
        int const file = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file >= 0) name.copy(unique.data(), unique.size() - 1);
        if (file >= 0 && ::ftruncate(file, static_cast<off_t>(bytes_)) == 0)
            memory_ = map_and_close(file, bytes_);
        else if (file >= 0) ::close(file);
    }
    comm.broadcast(std::span(unique));
    auto const& node_of = comm.nodes().node_of;
    bool const here = node_of[static_cast<std::size_t>(comm.rank())] == node_of[0];
    if (!owner && here && unique[0] != 0)
        memory_ = map_and_close(::shm_open(unique.data(), O_RDWR | O_CLOEXEC, 0), bytes_);
    bool const all = comm.allreduce_value(!here || memory_ != nullptr ? 1 : 0, min) != 0;
    if (owner && unique[0] != 0) ::shm_unlink(unique.data());
    if (!all && memory_ != nullptr) {
        ::munmap(memory_, bytes_);
        memory_ = nullptr;
    }
    everywhere_ = all && comm.nodes().nodes() == 1;
}

SharedPage::~SharedPage() {
    if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

}  // namespace sinew::bench
