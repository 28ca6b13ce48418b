// SPDX-License-Identifier: Apache-2.0
#include "launchers/io/output_writer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "src/base/system/io.hpp"
#include "src/base/waiting/spin_policy.hpp"

namespace sinew::launch {
namespace {

void run_posted(wire::Loop& loop) {
    bool reached = false;
    loop.post([&] { reached = true; });
    SpinPolicy sleeps;
    loop.drive([&] { return reached; }, std::chrono::steady_clock::time_point::max(), sleeps);
}

TEST(OutputWriter, WritesWhatIsLeftAndCallsNobodyAfterItsEnd) {
    wire::Loop loop;
    auto const [reader, writer] = socket_pair();
    int calls = 0;
    auto output = std::make_unique<OutputWriter>(loop, [&] { ++calls; });
    output->write(writer.get(), "last words", [&](int) { ++calls; });
    output.reset();
    run_posted(loop);
    EXPECT_EQ(calls, 0);
    std::string words(10, ' ');
    ASSERT_EQ(::read(reader.get(), words.data(), words.size()), 10);
    EXPECT_EQ(words, "last words");
}

TEST(OutputWriter, TellsWhenAllIsWritten) {
    wire::Loop loop;
    auto const [reader, writer] = socket_pair();
    bool is_idle = false;
    int error = -1;
    OutputWriter output(loop, [&] { is_idle = true; });
    output.write(writer.get(), "words", [&](int result) { error = result; });
    EXPECT_FALSE(output.idle());
    SpinPolicy sleeps;
    loop.drive([&] { return is_idle; }, std::chrono::steady_clock::time_point::max(), sleeps);
    EXPECT_EQ(error, 0);
    EXPECT_TRUE(output.idle());
    EXPECT_EQ(output.written(), 1u);
}

}  // namespace
}  // namespace sinew::launch
