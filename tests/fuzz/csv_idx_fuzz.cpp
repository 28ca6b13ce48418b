// SPDX-License-Identifier: Apache-2.0
//
// The data files of examples/sgd_digits are untrusted: for any contents, the parsers return
// consistent examples or throw DataError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "examples/sgd_digits/csv.hpp"
#include "examples/sgd_digits/idx.hpp"

namespace {

using namespace sgd_digits;

void expect(bool holds) {
    if (!holds) std::abort();
}

void check(Examples const& examples, std::size_t bytes) {
    expect(examples.size() > 0 && examples.features > 0);
    expect(examples.pixels.size() == examples.size() * examples.features);
    expect(examples.pixels.size() <= bytes);  // not more than the input
    for (auto const label : examples.labels) expect(label < classes);
}

std::string header(std::uint32_t magic) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(magic >> shift);
    return bytes;
}

}  // namespace

/// The first byte selects the format. For IDX, the second gives the start of the labels; magic
/// numbers are added here, unless the first byte is 2, since the fuzzer would hardly find them.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size < 2) return 0;
    std::string_view const input(reinterpret_cast<char const*>(data) + 2, size - 2);
    try {
        if (data[0] % 3 == 0) {
            check(parse_csv(input, "fuzz.csv"), size);
            return 0;
        }
        std::size_t const cut = input.size() * data[1] / 255;
        bool const raw = data[0] % 3 == 2;
        std::string const images = (raw ? "" : header(0x803)) + std::string(input.substr(0, cut));
        std::string const labels = (raw ? "" : header(0x801)) + std::string(input.substr(cut));
        check(parse_idx({images, "images"}, {labels, "labels"}), images.size());
    } catch (DataError const&) {}
    return 0;
}
