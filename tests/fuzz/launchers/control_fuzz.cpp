// SPDX-License-Identifier: Apache-2.0
//
// Requests to a job and its answers, with any contents, are refused with UsageError, or stay as
// they are when they are written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <sinew/error.hpp>

#include "launchers/control/protocol.hpp"

namespace {

using namespace sinew::launch;

void expect(bool holds) {
    if (!holds) std::abort();
}

void request(std::string_view input) {
    auto const found = parse_request(input);
    auto const again = parse_request(to_line(found));
    expect(again.verb == found.verb && again.ranks == found.ranks && again.tail == found.tail);
    expect(again.follow == found.follow && again.now == found.now && again.grace == found.grace);
}

void answer(std::string_view input) {
    auto const found = parse_answer(input);
    expect(found.exit_code >= 0 && found.exit_code <= 255);
    if (found.kind == ControlAnswer::Kind::status) {
        auto const again = parse_answer(status_line(found.job));
        expect(again.kind == found.kind && again.job.ranks == found.job.ranks);
        expect(again.job.per_rank.size() == found.job.per_rank.size());
    }
    if (found.kind == ControlAnswer::Kind::output) {
        expect(found.record.rank >= 0);
        OutputPrinter printer({.json = true});
        printer.print(found.record.rank, found.record.node, found.record.stream,
                      found.record.piece(), found.record.time);
        printer.take();
    }
}

}  // namespace

/// The first byte selects the parser.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view const input(reinterpret_cast<char const*>(data) + 1, size - 1);
    try {
        if (data[0] % 2 == 0) request(input);
        else answer(input);
    } catch (sinew::UsageError const&) {}
    return 0;
}
