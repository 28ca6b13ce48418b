// SPDX-License-Identifier: Apache-2.0
//
// Messages of a master are decoded or refused with DecodeError; transfers take at most twice the
// received bytes, whatever size they announce.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sinew/task/encoding.hpp>
#include <span>

#include "src/pool/transfers.hpp"
#include "src/pool/worker/messages.hpp"

namespace {

using namespace sinew;
using namespace sinew::pool;

void expect(bool holds) {
    if (!holds) std::abort();
}

void read_message(std::uint8_t kind, Bytes payload) {
    auto const told = read_told(kind, payload);
    if (auto const* const tasks = std::get_if<TasksTold>(&told)) {
        expect(tasks->head.count > 0 && tasks->arguments.size() < payload.size());
        expect(tasks->head.transfer == 0 || tasks->arguments.empty());
    }
    if (auto const* const function = std::get_if<FunctionTold>(&told))
        expect(function->state.size() + sizeof(FunctionHead) == payload.size());
}

// Pieces of a few transfers, each after a byte with its length.
void assemble(Bytes input) {
    Transfers transfers;
    std::size_t came = 0;
    while (!input.empty()) {
        std::size_t const size = std::min(std::to_integer<std::size_t>(input[0]), input.size() - 1);
        auto const frame = input.subspan(1, size);
        input = input.subspan(1 + size);
        auto piece = read_piece(static_cast<std::uint8_t>(Kind::piece), frame);
        piece.head.transfer = 1 + piece.head.transfer % 3;
        came += piece.bytes.size();
        if (came % 7 == 0) transfers.discard(piece.head.transfer);
        if (!transfers.add(piece)) continue;
        auto const payload = transfers.take(piece.head.transfer);
        expect(payload.size() == piece.head.total && payload.size() <= came);
        expect(payload.capacity() <= 2 * came);
    }
}

}  // namespace

/// The first byte is the kind of message; 255: pieces; 254: a worker's start message.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size < 1) return 0;
    Bytes const input = std::as_bytes(std::span(data + 1, size - 1));
    try {
        if (data[0] == 255) {
            assemble(input);
        } else if (data[0] == 254) {
            Reader reader(input);
            expect(decode<WorkerStart>(reader).program.size() <= input.size());
        } else {
            auto const first = static_cast<unsigned>(Kind::function);
            read_message(static_cast<std::uint8_t>(first + data[0] % 16), input);
        }
    } catch (DecodeError const&) {}
    return 0;
}
