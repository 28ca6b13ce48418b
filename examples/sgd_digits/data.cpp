// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/data.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <system_error>

#include "examples/sgd_digits/csv.hpp"
#include "examples/sgd_digits/idx.hpp"
#include "examples/sgd_digits/random.hpp"

namespace sgd_digits {
namespace {

namespace fs = std::filesystem;

bool present(fs::path const& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

/// Finds the file under either of its two names ("train-images.idx3-ubyte" is the other).
std::optional<fs::path> idx_file(fs::path const& folder, std::string const& stem,
                                 std::string const& kind) {
    for (char const* joint : {"-", "."})
        if (auto path = folder / (stem + joint + kind); present(path)) return path;
    return std::nullopt;
}

Examples load_idx_pair(fs::path const& folder, std::string const& prefix) {
    auto const named = [&](char const* stem, char const* kind) {
        if (auto path = idx_file(folder, prefix + stem, kind)) return *path;
        auto const missing = (folder / (prefix + stem + "-" + kind)).string();
        if (present(missing + ".gz"))
            throw DataError(missing + ".gz is still packed. Run: gunzip " + missing + ".gz");
        throw DataError(missing + " is missing (the other MNIST files are there).");
    };
    auto const images = named("-images", "idx3-ubyte");
    auto const labels = named("-labels", "idx1-ubyte");
    auto const pixels = read_file(images);
    auto const digits = read_file(labels);
    return parse_idx({pixels, images.string()}, {digits, labels.string()});
}

/// CSV has no defined range of features: the range of the training set is scaled to [0, 1].
Dataset scaled(Dataset data) {
    auto const& known = data.train.pixels;
    auto const [low, high] = std::minmax_element(known.begin(), known.end());
    double const least = *low;
    double const range = *high > *low ? double{*high} - least : 1.0;
    for (Examples* part : {&data.train, &data.test})
        for (float& pixel : part->pixels) pixel = static_cast<float>((pixel - least) / range);
    return data;
}

Examples pick(Examples const& all, std::span<std::uint32_t const> which) {
    Examples picked{.features = all.features};
    for (auto const i : which) {
        picked.pixels.insert(picked.pixels.end(), all[i].begin(), all[i].end());
        picked.labels.push_back(all.labels[i]);
    }
    return picked;
}

/// Uses four fifths of one file for training. The permutation has a fixed seed, so that another
/// --seed means other weights, not another test set.
Dataset load_one_csv(fs::path const& path) {
    auto const all = parse_csv(read_file(path), path.string());
    if (all.size() < 5)
        throw DataError(path.string() + ": " + std::to_string(all.size()) +
                        " examples (expected at least 5, to keep a fifth for the test).");
    std::vector<std::uint32_t> order(all.size());
    std::iota(order.begin(), order.end(), 0u);
    Random(8020).shuffle(order);
    auto const split = std::span(order).first(all.size() - all.size() / 5);
    auto const rest = std::span(order).subspan(split.size());
    return scaled({path.string(), pick(all, split), pick(all, rest)});
}

Dataset load_csv_pair(fs::path const& folder) {
    auto const one = [&](char const* name) {
        return parse_csv(read_file(folder / name), (folder / name).string());
    };
    return scaled({folder.string(), one("train.csv"), one("test.csv")});
}

}  // namespace

std::string read_file(fs::path const& path) {
    std::error_code error;
    // Reading a pipe or a device might never end.
    if (fs::status(path, error).type() != fs::file_type::regular)
        throw DataError(path.string() + (error ? ": " + error.message() : ": not a regular file") +
                        " (expected a data file).");
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (!file) throw DataError(path.string() + ": cannot be read. May you read it?");
    return bytes;
}

Dataset load(fs::path const& where) {
    if (!present(where))
        throw DataError("--data " + where.string() +
                        ": no such file or directory. Leave --data out for synthetic digits.");
    std::error_code ignored;
    Dataset data;
    if (!fs::is_directory(where, ignored)) {
        data = load_one_csv(where);
    } else if (present(where / "train.csv") && present(where / "test.csv")) {
        data = load_csv_pair(where);
    } else if (idx_file(where, "train-images", "idx3-ubyte") ||
               present(where / "train-images-idx3-ubyte.gz")) {
        data = {where.string(), load_idx_pair(where, "train"), load_idx_pair(where, "t10k")};
    } else {
        throw DataError("--data " + where.string() +
                        ": no digits found (looked for train.csv and test.csv, and for "
                        "train-images-idx3-ubyte).");
    }
    if (data.train.features != data.test.features)
        throw DataError(where.string() + ": " + std::to_string(data.train.features) +
                        " features to train with, " + std::to_string(data.test.features) +
                        " to test with (expected as many).");
    return data;
}

}  // namespace sgd_digits
