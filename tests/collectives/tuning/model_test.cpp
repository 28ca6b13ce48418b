// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/model.hpp"

#include <string>

#include <gmock/gmock.h>

#include <sinew/error.hpp>

namespace sinew::collectives {
namespace {

using ::testing::HasSubstr;

TEST(Model, InterpolatesBetweenWhatWasMeasured) {
    Model model;
    for (std::size_t i = 0; i < Model::sizes.size(); ++i)
        model.seconds[i] = static_cast<double>(i + 1);
    EXPECT_DOUBLE_EQ(model.exchange(1), 1);
    for (std::size_t i = 0; i < Model::sizes.size(); ++i)
        EXPECT_DOUBLE_EQ(model.exchange(Model::sizes[i]), static_cast<double>(i + 1));
    for (std::size_t i = 1; i < Model::sizes.size(); ++i)
        EXPECT_DOUBLE_EQ(model.exchange((Model::sizes[i - 1] + Model::sizes[i]) / 2),
                         static_cast<double>(i) + 0.5);
}

TEST(Model, GoesOnInProportionBeyondTheLargest) {
    Model const model;
    EXPECT_DOUBLE_EQ(model.exchange(Model::sizes.back() << 10), model.seconds.back() * 1024);
}

TEST(Model, KnowsThatNothingIsNotSent) {
    EXPECT_EQ(Model().exchange(0), 0);
    EXPECT_EQ(Model().stream(0), 0);
}

TEST(Model, HidesLatencyBehindTransfersUnderWay) {
    Model model;
    EXPECT_LT(model.overlapped(32768), model.exchange(32768));
    model.window = 1;
    EXPECT_DOUBLE_EQ(model.overlapped(32768), model.exchange(32768));
}

TEST(Model, StreamsInTimeThatGrowsWithTheBytes) {
    Model const model;
    EXPECT_DOUBLE_EQ(model.stream(1 << 20), 2 * model.stream(1 << 19));
}

TEST(Model, ReadsItsOwnText) {
    Model model;
    model.seconds.front() = 1.0 / 3;
    model.seconds.back() = 123456.789;
    model.reduce_per_byte = 0.1e-9;
    model.segment = 16384;
    model.window = 4;
    Model const read = Model::from_text(model.to_text());
    EXPECT_EQ(read.seconds, model.seconds);
    EXPECT_EQ(read.reduce_per_byte, model.reduce_per_byte);
    EXPECT_EQ(read.segment, model.segment);
    EXPECT_EQ(read.window, model.window);
    EXPECT_EQ(read.stream(1 << 20), model.stream(1 << 20));
    EXPECT_EQ(read.to_text(), model.to_text());
    EXPECT_EQ(model.to_text().find('\n'), std::string::npos);
}

TEST(Model, RefusesWhatIsNotItsText) {
    Model model;
    model.segment = 32768;
    model.window = 16;
    model.seconds[1] = 0.125;
    std::string const good = model.to_text(), second = std::to_string(Model::sizes[1]) + "=";
    ASSERT_NO_THROW(Model::from_text(good));
    auto const with = [&](std::string const& from, std::string const& to) {
        std::string text = good;
        return text.replace(text.find(from), from.size(), to);
    };
    for (std::string const& bad :
         {std::string(), good.substr(0, good.find(' ')), good + " ", good + " 3=4",
          good.substr(0, good.rfind(' ')), good.substr(0, good.rfind('=') + 1),
          with("model-", "model-9"), with("window=16", "window=0"), with("window=16", "window=-1"),
          with("segment=32768", "segment=x"), with(second, second + "x"), with(second, "7="),
          with("0.125", "nan"), with("0.125", "inf"), with("0.125", "-1"), with("0.125", "0")})
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
