// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/processor_pair.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include <sys/uio.h>
#include <unistd.h>

#include "benchmarks/support/machine/relax.hpp"

namespace sinew::bench {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto patience = std::chrono::milliseconds(100);

/// The ways of copying take whole lines.
std::size_t whole_lines(std::size_t bytes) {
    constexpr std::size_t line = SharedPage::line_bytes;
    return (bytes + line - 1) / line * line;
}

/// Reads memory of another process. Returns whether all of it was read.
bool read_memory(pid_t process, void* to, std::uintptr_t from, std::size_t bytes) {
    iovec const own{to, bytes};
    iovec const other{reinterpret_cast<void*>(from), bytes};
    return ::process_vm_readv(process, &own, 1, &other, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace

ProcessorPair::ProcessorPair(Communicator& comm) : page_(comm, lines), rank_(comm.rank()) {
    everywhere_ = page_.everywhere() && comm.size() > 1;
    std::uint64_t readable = 0;
    std::array<std::uint64_t, 2> const own{static_cast<std::uint64_t>(::getpid()),
                                           reinterpret_cast<std::uintptr_t>(&readable)};
    std::vector<std::uint64_t> all(own.size() * static_cast<std::size_t>(comm.size()));
    comm.allgather(std::span(own), std::span(all));
    bool reads = everywhere_;
    if (everywhere_ && *this) {
        std::size_t const other = own.size() * static_cast<std::size_t>(1 - rank_);
        other_process_ = static_cast<pid_t>(all[other]);
        std::uint64_t word = 0;
        reads = read_memory(other_process_, &word, all[other + 1], sizeof word);
    }
    reads_private_ = comm.allreduce_value(reads ? 1 : 0, min) != 0;  // `readable` lives until here
}

std::atomic<std::uint64_t>& ProcessorPair::flag(std::size_t index) const {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(flag_line(index));
}

void ProcessorPair::await(std::atomic<std::uint64_t> const& flag, std::uint64_t value) {
    auto until = Clock::time_point::max();  // the clock is read in long waits only
    for (int look = 1; meets_ && flag.load(std::memory_order_acquire) < value; ++look) {
        relax();
        if (look % 1024 != 0) continue;
        auto const now = Clock::now();
        if (until == Clock::time_point::max()) until = now + patience;
        meets_ = now <= until;
    }
}

void ProcessorPair::meet() { exchange_in_lines({}); }

void ProcessorPair::exchange_in_lines(Message const& message) {
    ++met_;
    std::size_t const own = (static_cast<std::size_t>(rank_) + met_) % 2;
    if (message.bytes > 0) std::memcpy(flag_line(own) + sizeof met_, message.from, message.bytes);
    flag(own).store(met_, std::memory_order_release);
    await(flag(1 - own), met_);
    if (message.bytes > 0) std::memcpy(message.to, flag_line(1 - own) + sizeof met_, message.bytes);
}

void ProcessorPair::exchange(Message const& message, Stored const& way) {
    if (message.bytes <= beside_flag) return exchange_in_lines(message);
    for (std::size_t at = 0; at < message.bytes && meets_; at += way.piece, ++exchanged_) {
        std::size_t const length = whole_lines(std::min(way.piece, message.bytes - at));
        // A rank stores where it has just loaded, so that the other rank loads nothing from there any more.
        std::size_t const side = (static_cast<std::size_t>(rank_) + exchanged_) % 2;
        way.in.copy(buffer(side * largest_piece), message.from + at, length);
        meet();
        way.out.copy(message.to + at, buffer((1 - side) * largest_piece), length);
    }
}

void ProcessorPair::read(Message const& message) {
    if (!read_memory(other_process_, message.to, message.other_from, message.bytes)) meets_ = false;
}

void ProcessorPair::exchange_by_kernel(Message const& message) {
    read(message);
    meet();
}

void ProcessorPair::hand_over(Message const& message, int giver, Stored const& way) {
    auto& loaded = flag(loaded_flag);
    bool const gives = rank_ == giver;
    bool const in_line = message.bytes <= beside_flag;
    std::size_t const largest = whole_lines(std::min(way.piece, message.bytes));
    std::size_t const ahead = in_line ? places : std::min(places, ring / largest);
    if (std::exchange(ahead_, ahead) != ahead) allowed_ = handed_over_;  // other places
    for (std::size_t at = 0; at < message.bytes && meets_; at += way.piece) {
        std::size_t const length = std::min(way.piece, message.bytes - at);
        std::size_t const place = first_place + handed_over_ % places;
        std::byte* const memory =
            in_line ? flag_line(place) + sizeof met_ : buffer(handed_over_ % ahead * largest);
        ++handed_over_;
        if (gives) {
            // Far ahead it waits until it is only half as far, since each look takes the flag from its writer.
            if (handed_over_ > allowed_) {
                await(loaded, handed_over_ - std::min<std::uint64_t>(handed_over_, ahead / 2));
                allowed_ = handed_over_ + ahead / 2 - 1;
            }
            if (in_line) std::memcpy(memory, message.from, length);
            else way.in.copy(memory, message.from + at, whole_lines(length));
            flag(place).store(handed_over_, std::memory_order_release);
        } else {
            await(flag(place), handed_over_);
            if (in_line) std::memcpy(message.to, memory, length);
            else way.out.copy(message.to + at, memory, whole_lines(length));
            loaded.store(handed_over_, std::memory_order_release);
        }
    }
}

void ProcessorPair::hand_over_by_kernel(Message const& message, int giver) {
    auto& loaded = flag(loaded_flag);
    auto& lent = flag(first_place + handed_over_ % places);
    ++handed_over_;
    allowed_ = handed_over_;
    if (rank_ == giver) {
        lent.store(handed_over_, std::memory_order_release);
        await(loaded, handed_over_);
    } else {
        await(lent, handed_over_);
        read(message);
        loaded.store(handed_over_, std::memory_order_release);
    }
}

}  // namespace sinew::bench
