// SPDX-License-Identifier: Apache-2.0
//
// An encoded pipe end is decoded or throws DecodeError. A stream of messages gives the same
// messages however it is split, no byte of the next message is requested early, and a claimed
// length takes at most 1 MiB.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sinew/task/encoding.hpp>
#include <span>
#include <vector>

#include "src/process/pipe/handle.hpp"
#include "src/process/pipe/message.hpp"

namespace {

using namespace sinew;
using process::PipeHandle;
using process::PipeMessage;
using Input = std::span<std::byte const>;

void expect(bool holds) {
    if (!holds) std::abort();
}

void read_handle(Input input) {
    Reader reader(input);
    try {
        auto const handle = decode<PipeHandle>(reader);
        PipeMessage message;
        message.begin_with(handle.begun);
        Writer writer;
        encode(writer, handle);
        expect(writer.size() == input.size() - reader.left());
    } catch (DecodeError const&) {}
}

std::vector<std::vector<std::byte>> messages(Input input, std::size_t step) {
    std::vector<std::vector<std::byte>> all;
    PipeMessage message;
    while (!input.empty()) {
        auto const room = message.room();
        expect(!room.empty() && room.size() <= (std::size_t{2} << 20));
        auto const part = std::min({step, room.size(), input.size()});
        std::memcpy(room.data(), input.data(), part);
        message.filled(part);
        input = input.subspan(part);
        if (message.whole()) {
            all.push_back(message.take());
        } else if (input.size() % 16 == 0) {  // moved to another reader
            PipeMessage moved;
            moved.begin_with(message.begun());
            expect(moved.begun() == message.begun());
            message = std::move(moved);
        }
    }
    return all;
}

/// Complete messages, each with a byte of length and as many bytes.
void pass_messages(Input input) {
    std::vector<std::byte> stream;
    std::vector<std::vector<std::byte>> sent;
    while (!input.empty()) {
        std::uint64_t const size =
            std::min(std::to_integer<std::size_t>(input[0]), input.size() - 1);
        auto const head = std::as_bytes(std::span(&size, 1));
        auto const body = input.subspan(1, size);
        input = input.subspan(1 + size);
        stream.insert(stream.end(), head.begin(), head.end());
        stream.insert(stream.end(), body.begin(), body.end());
        sent.emplace_back(body.begin(), body.end());
    }
    for (std::size_t const step : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20})
        expect(messages(stream, step) == sent);
}

}  // namespace

/// The first byte selects the rest's meaning. Claimed sizes are slow, so they are not most of it.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    auto const input = std::as_bytes(std::span(data + 1, size - 1));
    if (data[0] % 8 < 4) read_handle(input);
    else if (data[0] % 8 < 7) pass_messages(input);
    else if (size <= 100) expect(messages(input, 1) == messages(input, 1 << 20));
    else (void)messages(input, 4096);
    return 0;
}
