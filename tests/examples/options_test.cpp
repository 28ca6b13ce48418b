// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <sstream>

#include "examples/sgd_digits/gpu.hpp"
#include "examples/sgd_digits/plot.hpp"
#include "examples/sgd_digits/report.hpp"
#include "tests/support/temp_folder.hpp"

namespace sgd_digits {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(std::vector<std::string> const& arguments) {
    try {
        parse_options(arguments);
    } catch (OptionError const& error) {
        return error.what();
    }
    return "no OptionError";
}

TEST(Options, HaveDefaults) {
    auto const options = parse_options({});
    EXPECT_EQ(options.hidden, 64u);
    EXPECT_EQ(options.epochs, 30u);
    EXPECT_EQ(options.batch, 64u);
    EXPECT_EQ(options.seed, 1u);
    EXPECT_EQ(options.data, "");
    EXPECT_FALSE(options.json);
}

TEST(Options, AreReadInBothForms) {
    auto const options = parse_options(
        {"--hidden=0", "--epochs",   "3",           "--batch", "7",           "--rate",
         "0.5",        "--momentum", "0",           "--seed",  "9",           "--data",
         "x",          "--json",     "--algorithm", "ring",    "--wire",      "fp8",
         "--bucket",   "4096",       "--plot",      "a.svg",   "--clip-norm", "2.5"});
    EXPECT_EQ(options.hidden, 0u);
    EXPECT_EQ(options.epochs, 3u);
    EXPECT_EQ(options.batch, 7u);
    EXPECT_EQ(options.rate, 0.5);
    EXPECT_EQ(options.momentum, 0.0);
    EXPECT_EQ(options.seed, 9u);
    EXPECT_EQ(options.data, "x");
    EXPECT_TRUE(options.json);
    EXPECT_EQ(options.algorithm, "ring");
    EXPECT_EQ(options.wire, sinew::WireFormat::fp8);
    EXPECT_EQ(options.bucket, 4096u);
    EXPECT_EQ(options.plot, "a.svg");
    EXPECT_EQ(options.clip, 2.5);
    EXPECT_FALSE(options.optimizer_sharding);
    EXPECT_TRUE(parse_options({"--optimizer-sharding"}).optimizer_sharding);
    EXPECT_EQ(parse_options({"--powersgd-rank", "2"}).powersgd_rank, 2);
    EXPECT_EQ(parse_options({"--local-steps=8"}).local_steps, 8u);
}

TEST(Options, MistakesAreNamed) {
    EXPECT_THAT(error_of({"--epoch", "3"}), HasSubstr("--epoch. Did you mean --epochs?"));
    EXPECT_THAT(error_of({"--hiden=3"}), HasSubstr("Did you mean --hidden?"));
    EXPECT_THAT(error_of({"--wire", "fp4"}), HasSubstr("--wire: no wire format 'fp4'"));
    EXPECT_THAT(error_of({"--clip-norm", "-1"}), HasSubstr("--clip-norm -1"));
    EXPECT_THAT(error_of({"--local-steps=4", "--optimizer-sharding"}), HasSubstr("Leave them out"));
    EXPECT_THAT(error_of({"--powersgd-rank=2", "--optimizer-sharding"}), HasSubstr("one of them"));
    EXPECT_THAT(error_of({"--powersgd-rank=2", "--wire=int8"}), HasSubstr("--wire int8"));
    EXPECT_THAT(error_of({"--tune-buckets", "--wire=fp8"}), HasSubstr("--tune-buckets"));
    EXPECT_THAT(error_of({"--bucket", "0"}), HasSubstr("--bucket 0"));
    EXPECT_THAT(error_of({"--epochs", "many"}), HasSubstr("'many'"));
    EXPECT_THAT(error_of({"--epochs", "0"}), HasSubstr("--epochs 0 (expected 1 to"));
    EXPECT_THAT(error_of({"--batch", "-1"}), HasSubstr("--batch -1"));
    EXPECT_THAT(error_of({"--hidden", "-1"}), HasSubstr("--hidden -1"));
    EXPECT_THAT(error_of({"--rate", "nan"}), HasSubstr("--rate nan"));
    EXPECT_THAT(error_of({"--momentum", "1"}), HasSubstr("--momentum 1 "));
    EXPECT_THAT(error_of({"--seed"}), HasSubstr("--seed"));
    EXPECT_THAT(error_of({"digits.csv"}), HasSubstr("--data"));
}

TEST(Options, DeviceTakesWhatItsOptimiserHas) {
    for (char const* other :
         {"--local-steps=2", "--optimizer-sharding", "--powersgd-rank=2", "--tune-buckets"}) {
        std::string const flag = std::string(other).substr(0, std::string(other).find('='));
        EXPECT_THAT(error_of({"--device", other}),
                    AllOf(StartsWith("--device with " + flag + ": "), HasSubstr("Leave one")));
    }
    if (built_with_cuda()) {
        EXPECT_TRUE(parse_options({"--device", "--wire=int8", "--clip-norm=1"}).device);
    } else {
        EXPECT_THAT(error_of({"--device"}), HasSubstr("built without CUDA. Install"));
    }
    EXPECT_TRUE(parse_options({"--device", "--help"}).help);
}

TEST(Options, HelpNamesEveryFlag) {
    for (char const* flag : {"--data", "--hidden", "--epochs", "--batch", "--rate", "--momentum",
                             "--seed", "--json", "--plot", "--algorithm", "--device", "--help"})
        EXPECT_THAT(help_text(), HasSubstr(flag));
}

TEST(Report, EndsWithOneLineOfJson) {
    Options const options;
    Dataset const data{"some \"place\"", {1, {0}, {1}}, {1, {0}, {1}}};
    Result result;
    result.epochs = {{2.0, 0.5}, {1.5, 0.75}};
    result.gpus = {"a GPU", "another"};
    std::ostringstream out;
    Report(out, nullptr, options).json({3, "alpha, beta", "mpi"}, data, result);
    EXPECT_EQ(out.str().find('\n'), out.str().size() - 1);
    auto const json = nlohmann::json::parse(out.str());
    EXPECT_EQ(json["ranks"], 3);
    EXPECT_EQ(json["epochs"], 30);
    EXPECT_EQ(json["loss"], 1.5);
    EXPECT_EQ(json["test_accuracy"], 0.75);
    EXPECT_EQ(json["data"], "some \"place\"");
    EXPECT_EQ(json["algorithm"], "auto");
    EXPECT_EQ(json["gpus"][1], "another");
    EXPECT_THAT(json["weights_hash"].get<std::string>(), StartsWith("0x"));
    for (char const* key : {"seed", "hidden", "batch", "seconds", "allreduce_seconds"})
        EXPECT_TRUE(json.contains(key)) << key;
}

TEST(Report, OverwritesProgressOnATerminalOnly) {
    Options const options;
    std::ostringstream out, terminal;
    Report(out, nullptr, options).step(1, 10, 10);
    EXPECT_EQ(out.str(), "");
    Report report(out, &terminal, options);
    report.step(1, 10, 10);
    EXPECT_THAT(terminal.str(), StartsWith("\r"));
    report.epoch(3, {0.12345, 0.9583});
    EXPECT_EQ(out.str(), "epoch  3/30  loss 0.1235  test accuracy 95.83 %\n");
}

TEST(Report, PrintsTheGpuOfEachRank) {
    Options const options;
    std::ostringstream out;
    Report(out, nullptr, options).gpus({"a GPU", "another"});
    EXPECT_EQ(out.str(), "gpu    rank 0: a GPU\ngpu    rank 1: another\n");
}

TEST(Plot, DrawsAnSvgOrSaysWhatIsMissing) {
    sinew::testing_support::TempFolder const folder;
    auto const file = (folder.path() / "it's.svg").string();
    std::vector<Epoch> const epochs{{2.0, 0.5}, {1.5, 0.75}};
    if (std::system("command -v gnuplot >/dev/null") == 0) {
        check_plot(file);
        plot(file, "it's a title", epochs);
        EXPECT_THAT(read_file(file), HasSubstr("<svg"));
        EXPECT_THROW(check_plot("/no/such/folder/a.svg"), sinew::SystemError);
    } else {
        EXPECT_THROW(check_plot(file), sinew::Unavailable);
    }
}

}  // namespace
}  // namespace sgd_digits
