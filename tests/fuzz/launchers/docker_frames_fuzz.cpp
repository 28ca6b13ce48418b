// SPDX-License-Identifier: Apache-2.0
//
// What a container engine sends as a container's output: the parser gives no more bytes than have
// arrived, the same however they were cut, and refuses what consists of no frames for good.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sinew/error.hpp>
#include <string>
#include <string_view>

#include "launchers/docker/frames.hpp"

namespace {

using namespace sinew::launch::docker;

struct Result {
    std::string bytes;
    bool refused = false;
};

// In pieces of `step` bytes.
Result parse(std::string_view input, std::size_t step) {
    FrameParser parser;
    Result result;
    auto const give = [&](FrameParser::Stream, std::string_view piece) { result.bytes += piece; };
    for (; !input.empty(); input.remove_prefix(std::min(step, input.size()))) {
        try {
            parser.feed(input.substr(0, step), give);
            if (result.refused) std::abort();
        } catch (sinew::Unavailable const&) {
            result.refused = true;
        }
    }
    return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const input(reinterpret_cast<char const*>(data), size);
    auto const whole = parse(input, std::max<std::size_t>(size, 1));
    if (whole.bytes.size() > size) std::abort();
    for (std::size_t const step : {1, 3, 9}) {
        auto const cut = parse(input, step);
        if (cut.bytes != whole.bytes || cut.refused != whole.refused) std::abort();
    }
    return 0;
}
