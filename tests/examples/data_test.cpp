// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "examples/sgd_digits/csv.hpp"
#include "examples/sgd_digits/idx.hpp"
#include "tests/support/temp_folder.hpp"

namespace sgd_digits {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

std::string error_of(std::function<void()> const& act) {
    try {
        act();
    } catch (DataError const& error) {
        return error.what();
    }
    return "no DataError";
}

std::string csv_error(std::string const& text) {
    return error_of([&] { parse_csv(text, "a.csv"); });
}

TEST(Csv, ReadsFeaturesThenTheLabel) {
    auto const examples = parse_csv("1,2,3\r\n\n 4.5 ,-6e-1,0", "a.csv");
    EXPECT_EQ(examples.features, 2u);
    EXPECT_THAT(examples.pixels, ElementsAre(1.0f, 2.0f, 4.5f, -0.6f));
    EXPECT_THAT(examples.labels, ElementsAre(3, 0));
}

TEST(Csv, RefusesWithFileLineColumnAndValue) {
    EXPECT_THAT(csv_error("1,2,3\n1,2,4,5\n"),
                AllOf(HasSubstr("a.csv line 2"), HasSubstr("4 values"), HasSubstr("expected 3")));
    EXPECT_THAT(csv_error("1,2,3\n1,2\n"), HasSubstr("ends after 2 values"));
    EXPECT_THAT(csv_error("1,2,10\n"), AllOf(HasSubstr("column 3"), HasSubstr("label \"10\"")));
    EXPECT_THAT(csv_error("1,2,-1\n"), HasSubstr("label \"-1\""));
    EXPECT_THAT(csv_error("1,2,1.5\n"), HasSubstr("label \"1.5\""));
    EXPECT_THAT(csv_error("a,b,label\n"), HasSubstr("column 1: \"a\" (expected a number)"));
    EXPECT_THAT(csv_error("1,,3\n"), HasSubstr("column 2: \"\""));
    EXPECT_THAT(csv_error("1,nan,3\n"), HasSubstr("\"nan\""));
    EXPECT_THAT(csv_error("1,1e99,3\n"), HasSubstr("\"1e99\""));
    EXPECT_THAT(csv_error("1,2x,3\n"), HasSubstr("\"2x\""));
    EXPECT_THAT(csv_error("7\n"), HasSubstr("only one value"));
    EXPECT_THAT(csv_error(""), HasSubstr("no examples"));
    EXPECT_THAT(csv_error("\n\r\n"), HasSubstr("no examples"));
    EXPECT_THAT(csv_error(std::string("\x1f\x8b\x00,1", 5)), HasSubstr("\"???\""));
}

std::string big_endian(std::initializer_list<std::uint32_t> values) {
    std::string bytes;
    for (auto const value : values)
        for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
    return bytes;
}

std::string bytes(std::initializer_list<int> values) {
    std::string text;
    for (int const value : values) text += static_cast<char>(value);
    return text;
}

std::string const two_images = big_endian({0x803, 2, 1, 3}) + bytes({0, 51, 255, 0, 0, 102});
std::string const two_labels = big_endian({0x801, 2}) + bytes({7, 0});

Examples idx(std::string const& images, std::string const& labels) {
    return parse_idx({images, "images"}, {labels, "labels"});
}
std::string idx_error(std::string const& images, std::string const& labels) {
    return error_of([&] { idx(images, labels); });
}

TEST(Idx, ReadsImagesAndLabels) {
    auto const examples = idx(two_images, two_labels);
    EXPECT_EQ(examples.features, 3u);
    EXPECT_THAT(examples.pixels, ElementsAre(0.0f, 0.2f, 1.0f, 0.0f, 0.0f, 0.4f));
    EXPECT_THAT(examples.labels, ElementsAre(7, 0));
}

TEST(Idx, RefusesWithFileOffsetAndValue) {
    EXPECT_THAT(idx_error(two_labels, two_labels),
                AllOf(HasSubstr("images offset 0"), HasSubstr("0x00000801 (expected 0x00000803")));
    EXPECT_THAT(idx_error(two_images, two_images), HasSubstr("labels offset 0"));
    EXPECT_THAT(idx_error("\x1f\x8b\x08\x01", two_labels), HasSubstr("gunzip images"));
    EXPECT_THAT(idx_error(two_images.substr(0, 10), two_labels),
                HasSubstr("images offset 8: the file ends after 10 bytes"));
    EXPECT_THAT(idx_error("", two_labels), HasSubstr("ends after 0 bytes"));
    EXPECT_THAT(idx_error(two_images.substr(0, 20), two_labels),
                AllOf(HasSubstr("2 x 1 x 3"), HasSubstr("the 4 bytes after")));
    EXPECT_THAT(idx_error(two_images + "x", two_labels), HasSubstr("the 7 bytes after"));
    EXPECT_THAT(idx_error(two_images, big_endian({0x801, 1}) + bytes({1})),
                HasSubstr("1 labels (expected 2"));
    EXPECT_THAT(idx_error(two_images, big_endian({0x801, 2}) + bytes({1, 10})),
                HasSubstr("labels offset 9: label 10"));
    EXPECT_THAT(idx_error(big_endian({0x803, 0, 28, 28}), big_endian({0x801, 0})),
                HasSubstr("images offset 4: size 0"));
}

// (2^32 - 1)^3 is about 2^96: must be rejected before it is multiplied or allocated.
TEST(Idx, RefusesSizesWhoseProductOverflows) {
    auto const huge = big_endian({0x803, 0xffffffff, 0xffffffff, 0xffffffff}) + bytes({1, 2, 3});
    EXPECT_THAT(idx_error(huge, two_labels), HasSubstr("4294967295 x 4294967295 x 4294967295"));
    auto const wraps = big_endian({0x803, 0x10000, 0x10000, 0x80000000}) + bytes({0});
    EXPECT_THAT(idx_error(wraps, two_labels), HasSubstr("the 1 bytes after"));
}

TEST(Load, ScalesTheTrainingFeaturesOfCsvToOne) {
    sinew::testing_support::TempFolder const folder;
    folder.write("train.csv", "2,4,1\n6,10,2\n");
    folder.write("test.csv", "2,6,3\n");
    auto const data = load(folder.path());
    EXPECT_THAT(data.train.pixels, ElementsAre(0.0f, 0.25f, 0.5f, 1.0f));
    EXPECT_THAT(data.test.pixels, ElementsAre(0.0f, 0.5f));
    EXPECT_EQ(data.origin, folder.path().string());
}

TEST(Load, KeepsFeaturesThatAreAllEqual) {
    sinew::testing_support::TempFolder const folder;
    folder.write("train.csv", "5,5,1\n");
    folder.write("test.csv", "5,5,1\n");
    EXPECT_THAT(load(folder.path()).train.pixels, Each(0.0f));
}

TEST(Load, FindsMnistUnderBothOfItsNames) {
    for (char const* joint : {"-", "."}) {
        sinew::testing_support::TempFolder const folder;
        for (std::string const part : {"train", "t10k"}) {
            folder.write((part + "-images" + joint + "idx3-ubyte").c_str(), two_images);
            folder.write((part + "-labels" + joint + "idx1-ubyte").c_str(), two_labels);
        }
        auto const data = load(folder.path());
        EXPECT_EQ(data.train.size(), 2u);
        EXPECT_EQ(data.test.size(), 2u);
    }
}

TEST(Load, KeepsAFifthOfOneFileForTheTest) {
    sinew::testing_support::TempFolder const folder;
    std::string text;
    for (int i = 0; i < 100; ++i) text += std::to_string(i) + "," + std::to_string(i % 10) + "\n";
    auto const path = folder.write("all.csv", text);
    auto const data = load(path);
    EXPECT_EQ(data.train.size(), 80u);
    EXPECT_EQ(data.test.size(), 20u);
    EXPECT_EQ(load(path).test.labels, data.test.labels);
    EXPECT_THAT(data.train.pixels, Each(AllOf(Ge(0.0f), Le(1.0f))));
    auto const few = folder.write("few.csv", "1,1\n2,2\n");
    EXPECT_THAT(error_of([&] { load(few); }), HasSubstr("expected at least 5"));
}

TEST(Load, SaysWhatIsMissing) {
    sinew::testing_support::TempFolder const folder;
    auto const error = [&](std::filesystem::path const& path) {
        return error_of([&] { load(path); });
    };
    EXPECT_THAT(error("/no/such/thing"), HasSubstr("/no/such/thing: no such file"));
    EXPECT_THAT(error(folder.path()), HasSubstr("looked for train.csv and test.csv"));
    EXPECT_THAT(error("/dev/zero"), HasSubstr("not a regular file"));
    folder.write("train-images-idx3-ubyte", two_images);
    EXPECT_THAT(error(folder.path()), HasSubstr("train-labels-idx1-ubyte is missing"));
    folder.write("train-labels-idx1-ubyte.gz", "");
    EXPECT_THAT(error(folder.path()), HasSubstr("Run: gunzip"));
    folder.write("train.csv", "1,2,3\n");
    folder.write("test.csv", "1,3\n");
    EXPECT_THAT(error(folder.path()), HasSubstr("2 features to train with, 1 to test"));
}

}  // namespace
}  // namespace sgd_digits
