// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/state/part_id.hpp"

#include <gtest/gtest.h>

#include <random>

#include "src/sgd/state/held_parts.hpp"
#include "src/sgd/state/part_content.hpp"

namespace sinew::sgd {
namespace {

TEST(PartId, IsReadAsItIsWritten) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 1000; ++i) {
        int const ranks = 1 + static_cast<int>(random() % 5000);
        PartId const part{{random() >> random() % 64, random(), random() >> random() % 64, ranks},
                          static_cast<int>(random() % static_cast<unsigned>(ranks + 1)) - 1};
        EXPECT_EQ(PartId::parse(part.text()), part) << part.text();
    }
}

TEST(PartId, IsNothingElse) {
    std::string const name = "12-00c0ffee00c0ffee-step-700-of-4-rank-3";
    ASSERT_TRUE(PartId::parse(name));
    for (char const* const other :
         {"", "lock", "12-00c0ffee00c0ffee-step-700-of-4-rank-4",
          "012-00c0ffee00c0ffee-step-700-of-4-rank-3", "12-00c0ffee00c0ffee-step-700-of-4-",
          "12-c0ffee-step-700-of-4-shared", "12-00c0ffee00c0ffee-step-700-of-0-shared",
          "12-00c0ffee00c0ffee-step--7-of-4-shared", "12-00c0ffee00c0ffee-step-700-of-4-sharedx",
          "99999999999999999999999-00c0ffee00c0ffee-step-700-of-4-shared"})
        EXPECT_FALSE(PartId::parse(other)) << other;
    // No prefix, and no other character in its place.
    for (std::size_t i = 0; i < name.size(); ++i) {
        EXPECT_FALSE(PartId::parse(name.substr(0, i)));
        std::string changed = name;
        changed[i] = '~';
        EXPECT_FALSE(PartId::parse(changed)) << changed;
    }
}

TEST(HeldParts, ChooseTheOwnerOrTheLowestThatStillHasThePart) {
    CommitId const first{1, 5, 10, 3}, second{2, 5, 20, 3};
    PartId const own{second, 1}, shared{second, PartId::shared};
    HeldParts held({{PartId{first, 0}.text(), own.text(), "lock"},
                    {own.text(), shared.text()},
                    {own.text(), shared.text(), "else"}});
    EXPECT_EQ(held.commits(), (std::vector{second, first}));
    EXPECT_EQ(held.reader_of(own), 1);
    EXPECT_EQ(held.reader_of(shared), 1);
    held.strike(own, 1);
    EXPECT_EQ(held.reader_of(own), 0);
    held.strike(own, 0);
    held.strike(own, 2);
    held.strike(own, 2);
    EXPECT_EQ(held.reader_of(own), -1);
    EXPECT_EQ(held.missing({shared, own}), own);
    EXPECT_EQ(held.missing({shared}), std::nullopt);
    EXPECT_EQ(HeldParts::needed(first, true, true).size(), 4u);
}

TEST(PartContent, IsReadAsItIsWrittenAndRefusedIfItIsCut) {
    std::vector<std::byte> const bytes(100, std::byte{7});
    std::vector<StoredItem> const items{{"a: f32 x 25", bytes}, {"b: bytes", {}}};
    PartContent written;
    written.describe(items);
    EXPECT_EQ(written.pieces()[1].data(), bytes.data());  // not a copy
    std::vector<std::byte> content;
    for (auto const piece : written.pieces())
        content.insert(content.end(), piece.begin(), piece.end());
    auto const read = items_of(content);
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(read[0].bytes.size(), 100u);
    EXPECT_EQ(difference(read, std::vector<std::string>{"a: f32 x 25", "b: bytes"}), "");
    EXPECT_EQ(difference(read, std::vector<std::string>{"a: f32 x 25"}),
              "it has \"b: bytes\", which the program does not add");
    for (std::size_t size = 0; size < content.size(); ++size)
        EXPECT_THROW(items_of(std::span(content).first(size)), DecodeError) << size;
    content.push_back({});
    EXPECT_THROW(items_of(content), DecodeError);
}

}  // namespace
}  // namespace sinew::sgd
