// SPDX-License-Identifier: Apache-2.0
#include "collectives/model.hpp"

#include <limits>

#include <gmock/gmock.h>

#include <sinew/error.hpp>

namespace sinew::collectives {
namespace {

using ::testing::HasSubstr;

TEST(Model, InterpolatesBetweenWhatWasMeasured) {
    Model model;
    model.seconds = {1, 2, 4, 4, 10, 20, 30, 64};
    EXPECT_DOUBLE_EQ(model.exchange(1), 1);
    EXPECT_DOUBLE_EQ(model.exchange(8), 1);
    EXPECT_DOUBLE_EQ(model.exchange((8 + 512) / 2), 1.5);
    EXPECT_DOUBLE_EQ(model.exchange(2048), 4);
    EXPECT_DOUBLE_EQ(model.exchange(2048 + 1), 4);
    EXPECT_DOUBLE_EQ(model.exchange(2097152), 64);
}

TEST(Model, GoesOnInProportionBeyondTheLargest) {
    Model const model;
    EXPECT_DOUBLE_EQ(model.exchange(std::size_t{1} << 31), model.seconds.back() * 1024);
}

TEST(Model, KnowsThatNothingIsNotSent) {
    EXPECT_EQ(Model().exchange(0), 0);
    EXPECT_EQ(Model().stream(0), 0);
}

TEST(Model, HidesLatencyBehindTransfersUnderWay) {
    Model model;
    EXPECT_LT(model.overlapped(32768), model.exchange(32768));
    EXPECT_LT(model.stream(1 << 20), 32 * model.exchange(32768));
    model.window = 1;
    EXPECT_DOUBLE_EQ(model.overlapped(32768), model.exchange(32768));
}

TEST(Model, StreamsInTimeThatGrowsWithTheBytes) {
    Model const model;
    EXPECT_DOUBLE_EQ(model.stream(1 << 20), 2 * model.stream(1 << 19));
}

TEST(Model, ReadsItsOwnText) {
    Model model;
    model.seconds[0] = 1.0 / 3;
    model.seconds[7] = 123456.789;
    model.reduce_per_byte = 0.1e-9;
    model.segment = 16384;
    model.window = 4;
    Model const read = Model::from_text(model.to_text());
    EXPECT_EQ(read.seconds, model.seconds);
    EXPECT_EQ(read.reduce_per_byte, model.reduce_per_byte);
    EXPECT_EQ(read.segment, model.segment);
    EXPECT_EQ(read.window, model.window);
    EXPECT_EQ(model.to_text().find('\n'), std::string::npos);
}

TEST(Model, RefusesWhatIsNotItsText) {
    std::string const good = Model().to_text();
    auto const with = [&](std::string const& from, std::string const& to) {
        std::string text = good;
        return text.replace(text.find(from), from.size(), to);
    };
    for (std::string const& bad :
         {std::string(), std::string("sinew-model-1"), good + " ", good + " 3=4",
          good.substr(0, 40), good.substr(0, good.size() - 10), with("model-1", "model-2"),
          with("window=16", "window=0"), with("window=16", "window=-1"),
          with("segment=32768", "segment=x"), with("512=", "513="), with("2e-06", "nan"),
          with("2e-06", "inf"), with("2e-06", "-1")})
        EXPECT_THROW(Model::from_text(bad), UsageError) << '"' << bad << '"';
}

TEST(Model, SaysWhatIsWrongAndWhatToDo) {
    try {
        Model::from_text("nonsense");
        FAIL() << "read";
    } catch (UsageError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("\"nonsense\""));
        EXPECT_THAT(error.what(), HasSubstr("Remove it"));
    }
}

}  // namespace
}  // namespace sinew::collectives
