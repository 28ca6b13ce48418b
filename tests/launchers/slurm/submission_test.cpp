// SPDX-License-Identifier: Apache-2.0
// What is submitted to Slurm.
#include "launchers/slurm/submission.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>

#include "launchers/backends/backend.hpp"
#include "launchers/command_line/parse.hpp"
#include "launchers/slurm/native.hpp"
#include "src/base/text.hpp"
#include "tests/support/refusal.hpp"

namespace sinew::launch::slurm {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing_support::refusal;

RunOptions parse(Words words) {
    ProcessContext around;
    around.folder = "/nowhere";
    words.insert(words.begin(), {"--backend", "slurm"});
    return parse_run(words, around);
}

TEST(SlurmSubmission, PassesItsFlagsOn) {
    auto const words = submit_words(parse({"--nodes",
                                           "2",
                                           "-n",
                                           "8",
                                           "-N",
                                           "4",
                                           "--gpu",
                                           "1",
                                           "--partition",
                                           "gpu",
                                           "--account",
                                           "me",
                                           "--qos",
                                           "high",
                                           "--time",
                                           "1:30:00",
                                           "--gres",
                                           "gpu:4",
                                           "--constraint",
                                           "a&b",
                                           "--exclusive",
                                           "--slurm-arg=--mem=4G",
                                           "--slurm-arg=--requeue",
                                           "./train"}),
                                    "train-abcde");
    EXPECT_EQ(words.front(), "sbatch");
    for (auto const* word :
         {"--nodes=2", "--ntasks=8", "--ntasks-per-node=4", "--gpus-per-node=4", "--partition=gpu",
          "--account=me", "--qos=high", "--time=1:30:00", "--gres=gpu:4", "--constraint=a&b",
          "--exclusive", "--mem=4G", "--requeue", "--job-name=train-abcde",
          "--comment=sinew 8 ./train", "--output=/nowhere/train-abcde-%j.out"})
        EXPECT_THAT(words, Contains(word));
    EXPECT_THAT(words, Not(Contains(HasSubstr("--signal"))));
    EXPECT_THAT(submit_words(parse({"--grace", "50s", "x"}), "x"), Contains("--signal=B:TERM@60"));
    auto elsewhere = parse({"x"});
    elsewhere.folder = "/a %j";
    EXPECT_THAT(submit_words(elsewhere, "x"), Contains("--error=/a %%j/x-%j.err"));
    elsewhere.folder = "/a\\b";
    EXPECT_THAT(refusal([&] { submit_words(elsewhere, "x"); }), HasSubstr("backslash"));
    EXPECT_THAT(submit_words(parse({"x"}), "x"), Not(Contains(HasSubstr("--ntasks"))));
    EXPECT_THAT(submit_words(parse({"--nodes", "2", "-n", "5", "--gpu", "2", "x"}), "x"),
                testing::IsSupersetOf({"--ntasks=5", "--ntasks-per-node=3", "--gpus-per-node=6"}));
    EXPECT_THAT(refusal([] {
                    submit_words(parse({"-n", "5", "--gpu", "1", "x"}), "x");
                }),
                HasSubstr("--nodes"));
}

TEST(SlurmSubmission, RunsTheSameWordsInTheJob) {
    auto const lines = script(parse({"-n", "2", "./it's", "$HOME"}), "x");
    EXPECT_TRUE(lines.starts_with("#!/bin/sh\n")) << lines;
    EXPECT_THAT(lines, HasSubstr("'run' '--backend' 'slurm' '--name' 'x' '--backend' 'slurm' '-n' "
                                 "'2' './it'\\''s' '$HOME'\n"));
}

TEST(SlurmSubmission, FindsItsJobsByTheirComment) {
    auto const comment = comment_of(parse({"-n", "2", "a\nb", "c", ":", "-n", "3", "d"}));
    EXPECT_EQ(comment, "sinew 5 a?b c : d");
    auto const parsed = parse_comment(comment);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->ranks, 5);
    EXPECT_EQ(parsed->command, "a?b c : d");
    for (auto const* other : {"", "sinew", "sinew x", "sinew 3", "sinewy 3 x", "sinew -1 x"})
        EXPECT_FALSE(parse_comment(other)) << other;
    EXPECT_EQ(comment_of(parse({std::string(5000, 'x')})).size(), 200U);
}

TEST(SlurmSubmission, RefusesWhatWouldBreakIt) {
    for (auto const* word : {"--output=x", "-ox", "--job-name=y", "-J", "--array=1-3", "--wrap=x"})
        EXPECT_THAT(refusal([&] { parse({text("--slurm-arg=", word), "x"}); }), HasSubstr(word));
    EXPECT_THAT(refusal([] { parse({"--slurm-arg=mem", "x"}); }), HasSubstr("option of sbatch"));
    EXPECT_THAT(refusal([] { parse({"--time", "soon", "x"}); }), HasSubstr("1:30:00"));
    EXPECT_THAT(refusal([] { parse({"--partition", "a\nb", "x"}); }), HasSubstr("control"));
    auto local = parse({"--partition", "p", "x"});
    local.backend = "local";
    EXPECT_THAT(refusal([&] { choose_entry(local); }), HasSubstr("is for --backend slurm"));
    EXPECT_THAT(refusal([] { choose_entry(parse({"-H", "a", "x"})); }), HasSubstr("--nodelist"));
    EXPECT_THAT(refusal([] {
                    choose_entry(parse({"--fake-nodes", "2", "x"}));
                }),
                HasSubstr("--fake-nodes"));
}

TEST(SlurmNative, IsOneSrun) {
    auto const words = native_words(parse({"--native", "-n", "4", "--tag-output", "--bind-to",
                                           "core", "--partition", "p", "./x", "y"}));
    EXPECT_THAT(words,
                testing::ElementsAre("srun", "--mpi=pmix", "--kill-on-bad-exit=1", "--export=ALL",
                                     "--ntasks=4", "--partition=p", "--cpu-bind=cores", "--label",
                                     "--input=0", "./x", "y"));
    EXPECT_THAT(native_words(parse({"--native", "--mpi", "pmi1", "--no-kill", "x"})),
                testing::IsSupersetOf({"--mpi=pmi2", "--kill-on-bad-exit=0"}));
    for (Words const& flags : {Words{"--max-restarts", "1"},
                               {"--timeout", "5"},
                               {"--output", "json"},
                               {"-d"},
                               {"--accelerate"}}) {
        Words all{"--native"};
        all.insert(all.end(), flags.begin(), flags.end());
        all.emplace_back("x");
        EXPECT_THAT(refusal([&] { native_words(parse(all)); }), HasSubstr("with --native"));
    }
}

}  // namespace
}  // namespace sinew::launch::slurm
