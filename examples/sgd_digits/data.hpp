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

/// The number of classes: the digits 0..9.
inline constexpr std::size_t classes = 10;

/// The content of a file is wrong. The text names file, place and value.
class DataError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Pictures of digits, one row of `features` numbers each, with the digit that each shows.
struct Examples {
    std::size_t features = 0;
    std::vector<float> pixels = {};
    std::vector<std::uint8_t> labels = {};

    std::size_t size() const { return labels.size(); }
    std::span<float const> operator[](std::size_t i) const {
        return std::span(pixels).subspan(i * features, features);
    }
};

/// All features of `train` are in [0, 1]; `test` has the same scale and may exceed it.
struct Dataset {
    std::string origin;
    Examples train;
    Examples test;
};

/// Loads a directory with train.csv and test.csv, or with the four MNIST files (IDX, unpacked), or
/// one CSV file, a fifth of which becomes the test set. Throws DataError.
Dataset load(std::filesystem::path const& where);

/// Reads a whole regular file. Throws DataError for other files or if reading fails.
std::string read_file(std::filesystem::path const& path);

}  // namespace sgd_digits
