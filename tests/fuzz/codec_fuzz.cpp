// SPDX-License-Identifier: Apache-2.0
//
// A message may claim anything: decoding gives a value or throws DecodeError, and uses at most a
// small multiple of the bytes (-rss_limit_mb). A decoded value can be encoded and decoded again.
#include <cereal/types/forward_list.hpp>

#include <cstdint>
#include <cstdlib>

#include "tests/task/random_value.hpp"

namespace {

using namespace sinew;

template <class T>
void try_as(std::span<std::byte const> input) {
    Reader reader(input);
    Writer writer;
    try {
        encode(writer, decode<T>(reader));
    } catch (DecodeError const&) {
        return;
    }
    Reader again(writer.bytes());
    (void)decode<T>(again);  // throws if the encoded bytes are not a value
    if (again.left() != 0) std::abort();
}

}  // namespace

/// The first byte selects the type, the rest is the encoding.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    auto const input = std::as_bytes(std::span(data + 1, size - 1));
    switch (data[0] % 6) {
        case 0:
            try_as<task_test::Anything>(input);
            break;
        case 1:
            try_as<task_test::Record>(input);
            break;
        case 2:
            try_as<std::vector<std::vector<std::uint16_t>>>(input);
            break;
        case 3:
            try_as<std::unordered_map<std::string, std::variant<int, bool>>>(input);
            break;
        case 4:
            try_as<std::forward_list<task_test::Handle>>(input);
            break;
        default:
            try_as<std::vector<std::tuple<>>>(input);
    }
    return 0;
}
