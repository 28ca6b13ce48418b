// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/processor_pair.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <vector>

#include <sys/uio.h>
#include <unistd.h>

namespace sinew::bench {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto patience = std::chrono::milliseconds(100);
constexpr std::size_t page_bytes = 4096;

}  // namespace

ProcessorPair::ProcessorPair(Communicator& comm) : page_(comm, lines), rank_(comm.rank()) {
    bool const mine = page_ && rank_ < 2;
    if (mine) {
        in_ = private_memory();
        out_ = private_memory();
    }
    std::array<std::uint64_t, 2> const own{mine ? static_cast<std::uint64_t>(::getpid()) : 0,
                                           reinterpret_cast<std::uint64_t>(in_.get())};
    std::vector<std::uint64_t> places(2 * static_cast<std::size_t>(comm.size()));
    comm.allgather(std::span(own), std::span(places));
    bool reads = true;
    if (mine && comm.size() > 1) {
        auto const other = 2 * static_cast<std::size_t>(1 - rank_);
        other_process_ = static_cast<pid_t>(places[other]);
        other_in_ = places[other + 1];
        iovec const to{out_.get(), page_bytes};
        iovec const from{reinterpret_cast<void*>(other_in_), page_bytes};
        reads = ::process_vm_readv(other_process_, &to, 1, &from, 1, 0) ==
                static_cast<ssize_t>(page_bytes);
    }
    reads_private_ = comm.allreduce_value(reads ? 1 : 0, min) != 0;
}

ProcessorPair::Memory ProcessorPair::private_memory() {
    Memory memory(static_cast<std::byte*>(std::aligned_alloc(page_bytes, largest_message)));
    if (memory == nullptr) throw std::bad_alloc();
    std::fill_n(memory.get(), largest_message, std::byte{1});
    return memory;
}

std::atomic<std::uint64_t>& ProcessorPair::flag(std::size_t index) const {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(page_.line(index));
}

std::byte* ProcessorPair::buffer(std::size_t index) const {
    return page_.line(flags) + index * largest_piece;
}

void ProcessorPair::await(std::atomic<std::uint64_t> const& flag, std::uint64_t value) {
    auto const until = Clock::now() + patience;
    for (int look = 1; meets_ && flag.load(std::memory_order_acquire) < value; ++look)
        if (look % 1024 == 0 && Clock::now() > until) meets_ = false;
}

void ProcessorPair::meet() { exchange_in_lines(0); }

void ProcessorPair::exchange_in_lines(std::size_t bytes) {
    ++met_;
    std::size_t const own = (static_cast<std::size_t>(rank_) + met_) % 2;
    std::memcpy(page_.line(own) + sizeof met_, in_.get(), bytes);
    flag(own).store(met_, std::memory_order_release);
    await(flag(1 - own), met_);
    std::memcpy(out_.get(), page_.line(1 - own) + sizeof met_, bytes);
}

void ProcessorPair::touch(std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += SharedPage::line_bytes) {
        auto volatile* const byte = in_.get() + i;
        *byte = *byte;
    }
}

void ProcessorPair::exchange(Stored const& way, std::size_t bytes) {
    if (bytes <= beside_flag) return exchange_in_lines(bytes);
    for (std::size_t at = 0; at < bytes && meets_; at += way.piece, ++exchanged_) {
        std::size_t const length = std::min(way.piece, bytes - at);
        // Two buffers of each rank in turn, so that one is not stored to while the other rank may still load from it.
        std::size_t const turn = exchanged_ % 2;
        std::size_t const side = (static_cast<std::size_t>(rank_) + exchanged_ / 2) % 2;
        way.in.copy(buffer(2 * side + turn), in_.get() + at, length);
        meet();
        way.out.copy(out_.get() + at, buffer(2 * (1 - side) + turn), length);
    }
}

void ProcessorPair::read(std::size_t bytes) {
    iovec const to{out_.get(), bytes};
    iovec const from{reinterpret_cast<void*>(other_in_), bytes};
    if (::process_vm_readv(other_process_, &to, 1, &from, 1, 0) != static_cast<ssize_t>(bytes))
        meets_ = false;
}

void ProcessorPair::exchange_by_kernel(std::size_t bytes) {
    read(bytes);
    meet();
}

void ProcessorPair::hand_over(Stored const& way, std::size_t bytes) {
    auto& stored = flag(2);
    auto& loaded = flag(3);
    for (std::size_t at = 0; at < bytes && meets_; at += way.piece) {
        std::size_t const length = std::min(way.piece, bytes - at);
        std::byte* const place = buffer(handed_over_ % buffers);
        ++handed_over_;
        if (rank_ == 0) {
            if (handed_over_ > buffers) await(loaded, handed_over_ - buffers);
            way.in.copy(place, in_.get() + at, length);
            stored.store(handed_over_, std::memory_order_release);
        } else {
            await(stored, handed_over_);
            way.out.copy(out_.get() + at, place, length);
            loaded.store(handed_over_, std::memory_order_release);
        }
    }
}

void ProcessorPair::hand_over_by_kernel(std::size_t bytes) {
    auto& lent = flag(2);
    auto& loaded = flag(3);
    ++handed_over_;
    if (rank_ == 0) {
        lent.store(handed_over_, std::memory_order_release);
        await(loaded, handed_over_);
    } else {
        await(lent, handed_over_);
        read(bytes);
        loaded.store(handed_over_, std::memory_order_release);
    }
}

}  // namespace sinew::bench
