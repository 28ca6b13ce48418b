// SPDX-License-Identifier: Apache-2.0
//
// Queue messages as they arrive: each lies within its frame, those in pieces have the announced
// size, and a merely claimed size takes no memory (-rss_limit_mb). Now and then allocation fails,
// or the sender's memory limit is reached.
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>

#include "src/process/rpc/message.hpp"

namespace {

bool realloc_fails = false;

}  // namespace

// The linker replaces realloc by these, see CMakeLists.txt.
extern "C" void* __real_realloc(void* block, std::size_t size);
extern "C" void* __wrap_realloc(void* block, std::size_t size) {
    return realloc_fails ? nullptr : __real_realloc(block, size);
}

namespace {

using namespace sinew::process;
using Input = std::span<std::byte const>;

void expect(bool holds) {
    if (!holds) std::abort();
}

unsigned sum(Input bytes) {
    unsigned all = 0;
    for (auto const byte : bytes) all += std::to_integer<unsigned>(byte);
    return all;
}

void read_messages(Input frame) {
    auto rest = frame;
    std::size_t read = 0;
    while (auto const message = take_message(rest)) {
        expect(message->bytes.size() == message->head.size);
        read += sizeof(MessageHeader) + message->bytes.size();
        expect(read + rest.size() == frame.size());
        for (auto const& range : take_ranges(message->bytes)) {
            std::vector<NumberRange> ranges{range};
            add_to(ranges, range.last + 1);
            expect(!ranges.empty());
        }
        (void)sum(message->bytes);
    }
}

/// Frames of a byte for the kind, a byte for the length, and the bytes.
void assemble(Input input) {
    auto const budget = std::make_shared<MemoryBudget>(1 << 16);
    bool const limited = !input.empty() && std::to_integer<unsigned>(input[0]) % 2 == 1;
    Assembler assembler(limited ? budget : nullptr);
    while (input.size() >= 2) {
        auto const kind = std::to_integer<unsigned>(input[0]) % 4;
        auto const size = std::min(std::to_integer<std::size_t>(input[1]), input.size() - 2);
        auto const payload = input.subspan(2, size);
        input = input.subspan(2 + size);
        if (kind == 0) {
            (void)assembler.begin(payload);
        } else if (kind == 1 || kind == 3) {
            realloc_fails = kind == 3;
            try {
                if (auto const message = assembler.piece(payload)) {
                    expect(message->bytes.size() == message->head.size && message->keeper);
                    (void)sum(message->bytes);
                }
            } catch (std::bad_alloc const&) {
                expect(realloc_fails);
            }
            realloc_fails = false;
        } else {
            assembler.abort(payload);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    auto const input = std::as_bytes(std::span(data, size));
    read_messages(input);
    assemble(input);
    return 0;
}
