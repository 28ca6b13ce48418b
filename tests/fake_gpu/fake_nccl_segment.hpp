// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

namespace fake_nccl {

constexpr int most_ranks = 8;
constexpr std::size_t slot_bytes = std::size_t{64} << 10;
constexpr std::size_t mail_bytes = std::size_t{16} << 10;

/// What the ranks of one communicator share: a file without a name, which each opens through the
/// process that made it, so that nothing is left behind however the ranks end.
struct Segment {
    struct Slot {
        std::atomic<std::uint64_t> arrived, left;  // numbers of rounds
        std::atomic<std::uint64_t> call;           // what the rank does in this round
        std::byte data[slot_bytes];
    };
    struct Mail {
        std::atomic<std::uint64_t> put, taken;
        std::uint64_t bytes;
        std::byte data[mail_bytes];
    };
    std::atomic<int> joined;
    Slot slots[most_ranks];
    Mail mails[most_ranks][most_ranks];  // from, to
};

inline bool make_segment(char (&id)[128]) {
    int const file = ::memfd_create("fake_nccl", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, sizeof(Segment)) != 0) return false;
    std::snprintf(id, sizeof(id), "/proc/%d/fd/%d", ::getpid(), file);
    return true;
}

inline Segment* open_segment(char const* id) {
    int const file = ::open(id, O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* const memory =
        ::mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<Segment*>(memory);
}

}  // namespace fake_nccl
