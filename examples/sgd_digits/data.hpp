// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace sgd_digits {

/// What we tell apart: the digits 0..9.
inline constexpr std::size_t classes = 10;

/// A file does not hold what it should. The text names file, place and value.
class DataError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Pictures of digits, one row of `features` numbers each, and which digit each one is.
struct Examples {
    std::size_t features = 0;
    std::vector<float> pixels = {};
    std::vector<std::uint8_t> labels = {};

    std::size_t size() const { return labels.size(); }
    std::span<float const> operator[](std::size_t i) const {
        return std::span(pixels).subspan(i * features, features);
    }
};

/// All features lie in [0, 1] (test examples may leave it a little: the scale is that of `train`).
struct Dataset {
    std::string origin;
    Examples train;
    Examples test;
};

/// A directory with train.csv and test.csv, or with the four MNIST files (IDX, unpacked), or one
/// CSV file, of which a fifth becomes the test set. Throws DataError.
Dataset load(std::filesystem::path const& where);

/// The whole file; regular files only. Throws DataError.
std::string read_file(std::filesystem::path const& path);

}  // namespace sgd_digits
