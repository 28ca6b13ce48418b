// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/parse.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>

#include "launchers/command_line/flags.hpp"
#include "launchers/command_line/settings.hpp"

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;
using testing::UnorderedElementsAre;
using Words = std::vector<std::string>;

ProcessContext bare() {
    ProcessContext around;
    around.folder = "/nowhere/at/all";
    around.variables = {{"HOME", "/nowhere"}, {"LANG", "C"}, {"LC_ALL", "C"}, {"LC_TIME", "de"}};
    return around;
}

/// Splits at blanks.
Words words(std::string const& line) {
    Words parts;
    std::istringstream in(line);
    for (std::string word; in >> word;) parts.push_back(word);
    return parts;
}

RunOptions parse(std::string const& line) { return parse_run(words(line), bare()); }

std::string refusal_of(std::string const& line) {
    try {
        parse_run(words(line), bare());
    } catch (UsageError const& error) {
        return error.what();
    }
    ADD_FAILURE() << "is not refused: " << line;
    return {};
}

TEST(ParseRun, GivesTheProgramEverythingAfterItsName) {
    RunOptions const options = parse("-n 4 ./prog -n 5 --unknown -- :x --help");
    ASSERT_EQ(options.apps.size(), 1U);
    EXPECT_EQ(options.apps[0].ranks, 4);
    EXPECT_THAT(options.apps[0].argv,
                ElementsAre("./prog", "-n", "5", "--unknown", "--", ":x", "--help"));
    EXPECT_THAT(parse("-n 1 -- -odd -n 2").apps[0].argv, ElementsAre("-odd", "-n", "2"));
    EXPECT_THAT(parse("-").apps[0].argv, ElementsAre("-"));
    // Names of settings are not flags when used as a program or a value.
    EXPECT_THAT(parse("timeout 5 x").apps[0].argv, ElementsAre("timeout", "5", "x"));
    EXPECT_EQ(parse("--wdir output x").apps[0].folder, "/nowhere/at/all/output");
    EXPECT_EQ(parse("x").apps[0].ranks, 0);
}

TEST(ParseRun, TakesSpellingsOfAllMpis) {
    for (char const* line : {"-n 4 x", "-np 4 x", "--np 4 x", "-c 4 x", "--n 4 x", "-np=4 x",
                             "--np=4 x", "-n4 x", "-n 2 -n 4 x"})
        EXPECT_EQ(parse(line).apps[0].ranks, 4) << line;
    for (char const* line : {"-N 2 x", "--npernode 2 x", "-npernode 2 x", "-ppn 2 x", "--ppn 2 x",
                             "-N2 x", "--map-by ppr:2:node x", "--map-by PPR:2:NODE x"})
        EXPECT_EQ(parse(line).per_node, 2) << line;
    for (char const* line : {"-H a:2,b x", "--host a:2,b x", "-hosts a:2,b x", "-host a:2,b x",
                             "-H a:2 -H b x", "-H a,a -H b x"})
        EXPECT_EQ(parse(line).hosts.back().host, "b") << line;
    for (char const* line : {"--tag-output x", "-tag-output x", "-l x", "--output tag x",
                             "--output=TAG x", "-prepend-rank x", "--tag-output=yes x"})
        EXPECT_TRUE(parse(line).tag_output) << line;
    for (char const* line : {"--report-map x", "--display-map x", "--display map x",
                             "--display bind,map x", "-display-map x"})
        EXPECT_TRUE(parse(line).report_map) << line;
    for (char const* line : {"--no-kill x", "-disable-auto-cleanup x", "--enable-recovery x"})
        EXPECT_FALSE(parse(line).kill_on_failure) << line;
    for (char const* line : {"--wdir /d x", "-wdir /d x", "-wd /d x", "--wd /d x"})
        EXPECT_EQ(parse(line).apps[0].folder, "/d") << line;
    for (char const* line : {"--output-filename D x", "--output dir=D x", "--output tag,dir=D x"})
        EXPECT_EQ(parse(line).output_folder, "/nowhere/at/all/D") << line;
    EXPECT_TRUE(parse("--dry-run x").dry_run && parse("--do-not-launch x").dry_run);
    EXPECT_EQ(parse("x").accelerate, "");
    EXPECT_EQ(parse("--accelerate x").accelerate, "auto");
    EXPECT_EQ(parse("--accelerate=mpich x").accelerate, "mpich");
    EXPECT_TRUE(parse("--display bind x").report_bindings);
    EXPECT_EQ(parse("--allow-run-as-root x").apps.size(), 1U);
}

TEST(ParseRun, KnowsOversubscriptionInAllItsForms) {
    EXPECT_EQ(parse("x").oversubscribe, std::nullopt);
    for (char const* line : {"--oversubscribe x", "--map-by :OVERSUBSCRIBE x", "-oversubscribe x",
                             "--map-by node:oversubscribe x", "--map-by ppr:1:node:OVERSUBSCRIBE x",
                             "--nooversubscribe --oversubscribe x"})
        EXPECT_EQ(parse(line).oversubscribe, true) << line;
    for (char const* line : {"--nooversubscribe x", "--map-by slot:NOOVERSUBSCRIBE x",
                             "--oversubscribe=no x", "--oversubscribe --nooversubscribe x"})
        EXPECT_EQ(parse(line).oversubscribe, false) << line;
    EXPECT_EQ(parse("--map-by node:oversubscribe x").map_by, MapBy::node);
    EXPECT_EQ(parse("--map-by node --map-by :oversubscribe x").map_by, MapBy::node);
    for (char const* line : {"--map-by slot x", "--map-by core x", "--map-by package x"})
        EXPECT_EQ(parse(line).map_by, MapBy::slot) << line;
}

TEST(ParseRun, ReadsValues) {
    RunOptions const options = parse(
        "--timeout 2h --start-timeout 500ms --grace 0 --max-restarts 3 --tree-fanout 2 --nnodes 5 "
        "--bind-to package --rank-order hostfile --mpi pmi1 --stdin 03 --backend ssh "
        "--root-address h:1 --output json,timestamp --timing -vv x");
    EXPECT_EQ(options.timeout, 2h);
    EXPECT_EQ(options.start_timeout, 500ms);
    EXPECT_EQ(options.grace, 0s);
    EXPECT_EQ(options.max_restarts, 3);
    EXPECT_EQ(options.tree_fanout, 2);
    EXPECT_EQ(options.nodes, 5);
    EXPECT_EQ(options.bind_to, BindTo::socket);
    EXPECT_EQ(options.rank_order, RankOrder::hostfile);
    EXPECT_EQ(options.mpi, MpiSupport::pmi1);
    EXPECT_EQ(options.stdin_to, "3");
    EXPECT_EQ(options.backend, "ssh");
    EXPECT_EQ(options.root_address, "h:1");
    EXPECT_EQ(options.output, OutputFormat::json);
    EXPECT_TRUE(options.timestamp_output && options.timing);
    EXPECT_EQ(options.verbosity, 2);
    EXPECT_EQ(parse("--timeout 5 --timeout 0 x").timeout, std::nullopt);
    EXPECT_EQ(parse("-v -q x").verbosity, -1);
    EXPECT_EQ(parse("-q -v x").verbosity, 1);
    EXPECT_EQ(parse("-v -v -v x").verbosity, 2);
    EXPECT_EQ(parse("-vvv x").verbosity, 2);
    EXPECT_EQ(parse("--fake-nodes 3 x").fake_nodes, 3);
    EXPECT_EQ(parse("--fake-nodes 3,1,2,4 x").fake_nodes, 4);
    EXPECT_THAT(parse("--fake-nodes 3,1,2,4 x").fake_slots, ElementsAre(3, 1, 2, 4));
    EXPECT_THAT(parse_run({"--launch-agent", "rsh {host}", "x"}, bare()).launch_agent,
                "rsh {host}");
    EXPECT_THAT(parse("--stdin ALL x").stdin_to, "all");
}

TEST(ParseRun, CollectsVariables) {
    RunOptions const options = parse(
        "-x A=1 -x A=2 -x LANG -x LC_* -x EMPTY= -x E==x -env B b -genv C c -genvlist HOME "
        "--mca btl self,tcp -mca a b --pmixmca gds hash x");
    EXPECT_THAT(options.env,
                UnorderedElementsAre(Pair("A", "2"), Pair("LANG", "C"), Pair("LC_ALL", "C"),
                                     Pair("LC_TIME", "de"), Pair("EMPTY", ""), Pair("E", "=x"),
                                     Pair("B", "b"), Pair("C", "c"), Pair("HOME", "/nowhere"),
                                     Pair("OMPI_MCA_btl", "self,tcp"), Pair("OMPI_MCA_a", "b"),
                                     Pair("PMIX_MCA_gds", "hash")));
    EXPECT_THAT(options.apps[0].env, IsEmpty());
    EXPECT_THAT(options.notes, IsEmpty());
    EXPECT_EQ(parse_run({"-x", "A=two words\n", "x"}, bare()).env.at("A"), "two words\n");
    EXPECT_EQ(parse_run({"-env", "A", " b ", "x"}, bare()).env.at("A"), " b ");
    EXPECT_EQ(parse("-genv A 1 -x A=2 x").env.at("A"), "2");
}

TEST(ParseRun, NotesWhatHasNoEffect) {
    RunOptions const options = parse("-x NOT_SET -x NO_* --mca plm_rsh_agent rsh x");
    EXPECT_THAT(
        options.notes,
        ElementsAre(AllOf(StartsWith("-x NOT_SET"), HasSubstr("is not set")), StartsWith("-x NO_*"),
                    AllOf(StartsWith("--mca plm_rsh_agent rsh"), HasSubstr("--launch-agent"))));
    EXPECT_THAT(options.env, ElementsAre(Pair("OMPI_MCA_plm_rsh_agent", "rsh")));
}

TEST(ParseRun, NotesWhatMeansSomethingElseThanMpiruns) {
    EXPECT_THAT(parse("--map-by socket --output-filename out --launch-agent orted -H a x").notes,
                ElementsAre(AllOf(StartsWith("--map-by socket"), HasSubstr("--bind-to")),
                            AllOf(StartsWith("--output-filename out"), HasSubstr("rank.N.stdout")),
                            AllOf(StartsWith("--launch-agent orted"), HasSubstr("{host}"))));
    // No notes for equivalent flags or for flags that only sinew has.
    EXPECT_THAT(parse("--map-by node --output dir=out,tag -H a --tag-output x").notes, IsEmpty());
    EXPECT_THAT(parse_run({"--launch-agent", "ssh {host}", "-H", "a", "x"}, bare()).notes,
                IsEmpty());
}

TEST(ParseRun, TakesSeveralPrograms) {
    RunOptions const options =
        parse("--tag-output -genv G g -n 1 -x A=1 p a : -np 2 -wdir d q --tag : -n 3 -env B 2 r");
    ASSERT_EQ(options.apps.size(), 3U);
    EXPECT_TRUE(options.tag_output);
    EXPECT_THAT(options.env, ElementsAre(Pair("G", "g")));
    EXPECT_THAT(options.apps[0].argv, ElementsAre("p", "a"));
    EXPECT_THAT(options.apps[1].argv, ElementsAre("q", "--tag"));
    EXPECT_THAT(options.apps[2].argv, ElementsAre("r"));
    EXPECT_THAT(options.apps[0].env, ElementsAre(Pair("A", "1")));
    EXPECT_THAT(options.apps[1].env, IsEmpty());
    EXPECT_THAT(options.apps[2].env, ElementsAre(Pair("B", "2")));
    EXPECT_EQ(options.apps[0].ranks * 100 + options.apps[1].ranks * 10 + options.apps[2].ranks,
              123);
    EXPECT_EQ(options.apps[0].folder, "");
    EXPECT_EQ(options.apps[1].folder, "/nowhere/at/all/d");
}

TEST(ParseRun, ShowsHelpWithoutAProgram) {
    EXPECT_EQ(parse("--help").help, "run");
    EXPECT_EQ(parse("-h").help, "run");
    EXPECT_EQ(parse("--help hosts").help, "hosts");
    EXPECT_EQ(parse("--help=hosts").help, "hosts");
    EXPECT_EQ(parse("-n 4 --help -v").help, "run");
    EXPECT_TRUE(parse("--version").version);
    EXPECT_EQ(parse("x --help").help, std::nullopt);
}

struct Refusal {
    char const* line;
    std::vector<char const*> says;
};

TEST(ParseRun, RefusesWhatItDoesNotUnderstand) {
    for (Refusal const& bad : std::vector<Refusal>{
             {"--tag-outptu x", {"unknown flag --tag-outptu. Did you mean --tag-output?"}},
             {"-hostfiel f x", {"unknown flag -hostfiel.", "hostfile?"}},
             {"--time-out=3 x", {"unknown flag --time-out.", "--timeout?"}},
             {"-npp 4 x", {"unknown flag -npp.", "-np?"}},
             {"---n 4 x", {"unknown flag ---n"}},
             {"--frobnicate-all x", {"unknown flag --frobnicate-all.", "'sinew run --help'"}},
             {"-Z x", {"unknown flag -Z"}},
             {"--tag x", {"unknown flag --tag"}},  // prefixes are not accepted
             {"-n4x x", {"unknown flag -n4x"}},
             {"", {"no program"}},
             {"-n 4", {"no program", "sinew run -n 4 ./program"}},
             {"-n 4 --", {"no program"}},
             {"-n", {"-n has no value", "COUNT"}},
             {"-n --tag-output x", {"-n has no value"}},
             {"-n -- x", {"-n has no value"}},
             {"-n abc x", {"-n abc (must be a whole number from 1"}},
             {"-n 0 x", {"-n 0"}},
             {"-n -3 x", {"-n -3"}},
             {"-n 4.5 x", {"-n 4.5"}},
             {"-n 99999999999 x", {"-n 99999999999"}},
             {"--np= x", {"--np= ("}},
             {"--timeout soon x", {"--timeout soon", "30s, 500ms or 5min"}},
             {"--start-timeout 0 x", {"--start-timeout 0"}},
             {"--grace -1s x", {"--grace -1s"}},
             {"--bind-to cores x",
              {"--bind-to cores (must be core, socket, package, none or auto"}},
             {"--map-by numa x", {"--map-by numa", "slot, node"}},
             {"--map-by ppr:2:socket x", {"--map-by ppr:2:socket", "ppr:K:node"}},
             {"--map-by ppr:x:node x", {"ppr:K:node"}},
             {"--map-by node:PE=2 x", {"--map-by node:PE=2"}},
             {"--map-by= x", {"--map-by="}},
             {"--rank-order up x", {"--rank-order up (must be topology, index or hostfile)"}},
             {"--output tags x", {"--output tags", "dir=DIR"}},
             {"--output xml x", {"--output xml"}},
             {"--display maps x", {"--display maps"}},
             {"--stdin 1,2 x", {"--stdin 1,2 (must be a rank, all or none)"}},
             {"--mpi openmpi x", {"--mpi openmpi (must be auto, pmix, pmi1 or none)"}},
             {"--tree-fanout 1 x", {"--tree-fanout 1"}},
             {"--fake-nodes 2,x x", {"--fake-nodes 2,x"}},
             {"--tag-output=maybe x", {"--tag-output=maybe (must be yes or no)"}},
             {"--nooversubscribe=no x", {"--nooversubscribe=no"}},
             {"-x =1 x", {"-x =1"}},
             {"--mca btl", {"--mca", "KEY VALUE"}},
             {"-env A=1 prog", {"-env A=1 (must be two words, VAR VALUE)"}},
             {"--mca=btl self x", {"--mca has no value"}},
             {"-genvlist A,,B x", {"-genvlist A,,B"}},
             {"-H a,,b x", {"-H a,,b"}},
             {"-H a:0 x", {"-H a:0"}},
             {"--hostfile /nowhere/hosts x", {"hostfile /nowhere/hosts cannot be read"}},
             {"--env-file /nowhere/env x", {"--env-file /nowhere/env cannot be read"}},
             {"--hostfile / x", {"hostfile / cannot be read"}},
             {"-n 1 p : q", {"q has no -n"}},
             {"-n 1 p : -n 1", {"program 2 of 2 is missing"}},
             {"-n 1 p : : -n 2 q", {"program 2 of 3 is missing"}},
             {"-n 1 p : --timeout 3 -n 2 q", {"--timeout 3 after a ':'", "before the first"}},
             {": p", {"program 1 of 2 is missing"}}}) {
        std::string const text = refusal_of(bad.line);
        for (char const* part : bad.says) EXPECT_THAT(text, HasSubstr(part)) << bad.line;
    }
}

TEST(Flags, HaveASetterATopicAndSpellingsOfTheirOwn) {
    std::map<std::string, std::string_view> taken;
    for (Flag const& flag : all_flags()) {
        EXPECT_NE(flag.help, "") << flag.key;
        EXPECT_EQ(find_key(flag.key), &flag) << flag.key;
        for (std::string_view const spelling : spellings(flag)) {
            ASSERT_TRUE(spelling.size() > 1 && spelling[0] == '-') << spelling;
            std::string name(spelling.substr(spelling.find_first_not_of('-')));
            EXPECT_EQ(find_flag(name).flag, &flag) << spelling << " of " << flag.key;
            auto const [at, is_new] = taken.emplace(name, flag.key);
            EXPECT_TRUE(is_new || at->second == flag.key) << spelling;
        }
        // A value that no flag accepts: the value is refused, not the key.
        Draft draft;
        ProcessContext const around = bare();
        draft.environment = &around;
        try {
            for (Setting const& part : expand({std::string(flag.key), "yes", "origin", ""}))
                apply(draft, part);
        } catch (UsageError const& error) {
            EXPECT_THAT(error.what(), testing::Not(HasSubstr("nothing sets"))) << flag.key;
        }
    }
}

TEST(Nearest, ForgivesLettersButNotWords) {
    std::vector<std::string_view> const names{"timeout", "timing", "grace", "np"};
    EXPECT_EQ(nearest("timeuot", names), "timeout");
    EXPECT_EQ(nearest("tming", names), "timing");
    EXPECT_EQ(nearest("garce", names), "grace");
    EXPECT_EQ(nearest("npp", names), "np");
    EXPECT_EQ(nearest("quux", names), "");
    EXPECT_EQ(nearest("", names), "");
    EXPECT_EQ(nearest(std::string(100'000, 'x'), names), "");
}

}  // namespace
}  // namespace sinew::launch
