// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/idx.hpp"

#include <array>
#include <cstdint>

namespace sgd_digits {
namespace {

[[noreturn]] void fail(NamedBytes const& file, std::size_t offset, std::string const& problem) {
    throw DataError(file.name + " offset " + std::to_string(offset) + ": " + problem);
}

std::string hex(std::uint32_t value) {
    std::string text = "0x";
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[(value >> shift) & 15];
    return text;
}

std::uint32_t big_endian(NamedBytes const& file, std::size_t offset) {
    if (file.bytes.size() < offset + 4)
        fail(file, offset,
             "the file ends after " + std::to_string(file.bytes.size()) +
                 " bytes, inside its header. Is the download complete?");
    std::uint32_t value = 0;
    for (char const c : file.bytes.substr(offset, 4))
        value = value << 8 | static_cast<unsigned char>(c);
    return value;
}

void expect_magic(NamedBytes const& file, std::uint32_t expected, char const* what) {
    auto const found = big_endian(file, 0);
    if (found >> 16 == 0x1f8b) fail(file, 0, "the file is still packed. Run: gunzip " + file.name);
    if (found != expected)
        fail(file, 0,
             "magic number " + hex(found) + " (expected " + hex(expected) + ": " + what + ").");
}

/// Returns the bytes after a header of sizes. Throws unless their number matches the sizes.
template <std::size_t Count>
std::string_view payload(NamedBytes const& file, std::array<std::uint32_t, Count> const& sizes) {
    std::size_t const header = 4 + 4 * Count;
    std::size_t const found = file.bytes.size() - header;
    std::size_t expected = 1;
    std::string shape;
    for (std::size_t i = 0; i < Count; ++i) {
        if (sizes[i] == 0) fail(file, 4 + 4 * i, "size 0 (expected at least 1).");
        // Stop growing once it is too large: the product of three 32-bit sizes overflows.
        expected = expected > found / sizes[i] ? found + 1 : expected * sizes[i];
        shape += (i ? " x " : "") + std::to_string(sizes[i]);
    }
    if (expected != found)
        fail(file, 4,
             "sizes " + shape + " (expected to match the " + std::to_string(found) +
                 " bytes after the header). Is the download complete?");
    return file.bytes.substr(header);
}

}  // namespace

Examples parse_idx(NamedBytes const& images, NamedBytes const& labels) {
    expect_magic(images, 0x803, "images");
    expect_magic(labels, 0x801, "labels");
    std::array const shape{big_endian(images, 4), big_endian(images, 8), big_endian(images, 12)};
    std::array const count{big_endian(labels, 4)};
    auto const pixels = payload(images, shape);
    auto const digits = payload(labels, count);
    if (shape[0] != count[0])
        fail(labels, 4,
             std::to_string(count[0]) + " labels (expected " + std::to_string(shape[0]) +
                 ", one for each image of " + images.name + ").");

    Examples examples{.features = pixels.size() / shape[0]};
    examples.pixels.reserve(pixels.size());
    for (char const pixel : pixels)
        examples.pixels.push_back(static_cast<float>(static_cast<unsigned char>(pixel)) / 255.0f);
    examples.labels.reserve(digits.size());
    for (std::size_t i = 0; i < digits.size(); ++i) {
        auto const digit = static_cast<unsigned char>(digits[i]);
        if (digit >= classes)
            fail(labels, 8 + i, "label " + std::to_string(digit) + " (expected a digit, 0 to 9).");
        examples.labels.push_back(digit);
    }
    return examples;
}

}  // namespace sgd_digits
