// SPDX-License-Identifier: Apache-2.0
// The objects of jobs, as YAML, against files that people can read. SINEW_WRITE_GOLDEN=1 writes them.
#include "launchers/kubernetes/objects/job_objects.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sinew/error.hpp>

#include "k8s/objects/yaml.hpp"
#include "launchers/command_line/parse.hpp"
#include "launchers/kubernetes/objects/root_arguments.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::launch::kubernetes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::refusal;
using testing_support::TempFolder;
using Json = nlohmann::json;

RunOptions parse(std::vector<std::string> words) {
    words.insert(words.begin(), {"--backend", "kubernetes"});
    ProcessContext context;
    context.folder = "/nowhere";
    return parse_run(words, context);
}

std::string yaml_of(std::vector<std::string> const& words, std::string const& root_ip = "") {
    JobObjects const objects(parse(words), "train", "ml", "");
    std::vector<Json> all;
    for (auto const& [resource, object] : objects.before()) all.push_back(object);
    all.push_back(objects.job(root_ip).object);
    // The key and the id are random.
    std::regex const secret(R"(\\"(secret|job)\\":\\"[0-9a-f]+\\")");
    std::regex const plain(R"re("(secret|job)":"[0-9a-f]+")re");
    auto text = std::regex_replace(k8s::to_yaml(all), secret, R"(\"$1\":\"...\")");
    return std::regex_replace(text, plain, R"("$1":"...")");
}

void expect_golden(std::string const& name, std::string const& text) {
    auto const path = std::string(SINEW_SOURCE_FOLDER "/tests/launchers/kubernetes/golden/") + name;
    if (std::getenv("SINEW_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
    std::ifstream file(path);
    std::string const wanted{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(text, wanted) << path;
}

TEST(JobObjects, OfAPlainJob) {
    expect_golden("plain.yaml",
                  yaml_of({"--image", "img:1", "-n", "4", "./train", "--epochs", "3"}));
}

TEST(JobObjects, OfAJobWithEverything) {
    expect_golden("everything.yaml", yaml_of({"--image",
                                              "img:1",
                                              "-n",
                                              "8",
                                              "--nnodes",
                                              "4",
                                              "--cpu",
                                              "500m",
                                              "--memory",
                                              "2Gi",
                                              "--shm",
                                              "1Gi",
                                              "--volume",
                                              "data",
                                              "--volume",
                                              "nfs:/in:ro",
                                              "--service-account",
                                              "runner",
                                              "--node-selector",
                                              "pool=gpu",
                                              "--toleration",
                                              "nvidia.com/gpu:NoSchedule",
                                              "--toleration",
                                              "team=ml",
                                              "--image-pull-policy",
                                              "Always",
                                              "--image-pull-secret",
                                              "registry",
                                              "--label",
                                              "team=ml",
                                              "--annotation",
                                              "note=a b",
                                              "--network-policy",
                                              "--ttl",
                                              "10min",
                                              "--max-restarts",
                                              "3",
                                              "--agent-image",
                                              "sinew:1",
                                              "--grace",
                                              "20s",
                                              "-x",
                                              "A=b c",
                                              "./train"},
                                             "10.96.0.7"));
}

TEST(JobObjects, OfGangs) {
    std::vector<std::string> const words{"--image", "i", "-n", "2", "--gang"};
    for (std::string const gang : {"volcano", "coscheduling", "kueue:team-queue"}) {
        auto all = words;
        all.insert(all.end(), {gang, "./p"});
        expect_golden("gang-" + gang.substr(0, gang.find(':')) + ".yaml", yaml_of(all));
    }
}

TEST(JobObjects, TakeATemplateOfPods) {
    TempFolder const folder;
    std::string const file = folder.path() / "pod.yaml";
    std::ofstream(file)
        << "metadata: {annotations: {a: b}}\nspec:\n  priorityClassName: high\n  containers:\n"
           "  - name: sinew\n    env: [{name: HOME, value: /home/me}]\n  - name: side\n    image: "
           "s\n";
    auto const text = yaml_of({"--image", "i", "--pod-template", file, "./p"});
    EXPECT_THAT(text, HasSubstr("priorityClassName: high"));
    EXPECT_THAT(text, HasSubstr("value: /home/me"));
    EXPECT_THAT(text, HasSubstr("name: side"));
    EXPECT_THAT(text, HasSubstr("runAsNonRoot: true"));
    std::ofstream(file) << "kind: Pod\nstatus: {}\n";
    EXPECT_THAT(refusal([&] {
                    yaml_of({"--image", "i", "--pod-template", file, "./p"});
                }),
                HasSubstr("has the key status"));
}

TEST(JobObjects, RefuseWhatClustersCannotDo) {
    auto const why = [](std::vector<std::string> const& words) {
        return refusal([&] { yaml_of(words); });
    };
    EXPECT_THAT(why({"./p"}), HasSubstr("needs --image"));
    EXPECT_THAT(why({"--image", "i", "-H", "a", "./p"}), HasSubstr("the cluster chooses"));
    EXPECT_THAT(why({"--image", "i", "--stdin", "all", "./p"}), HasSubstr("--stdin all"));
    EXPECT_THAT(refusal([&] {
                    JobObjects(parse({"--image", "i", "./p"}), "3d", "ml", "");
                }),
                HasSubstr("--name 3d (must begin with a letter on Kubernetes"));
    EXPECT_THAT(why({"--image", "i", "-n", "9", "--nnodes", "2", "-N", "4", "./p"}),
                HasSubstr("9 ranks do not fit (-N 4 leaves room for 8 on 2 pods)"));
}

TEST(JobShape, IsOnePodForEachRankByDefault) {
    auto const shape = [](std::vector<std::string> words) {
        words.insert(words.begin(), {"--image", "i"});
        auto const found = job_shape(parse(words));
        return std::pair(found.nodes, found.ranks_per_node);
    };
    EXPECT_EQ(shape({"./p"}), std::pair(1, 1));
    EXPECT_EQ(shape({"-n", "16", "./p"}), std::pair(16, 1));
    EXPECT_EQ(shape({"-n", "8", "--nnodes", "4", "./p"}), std::pair(4, 2));
    EXPECT_EQ(shape({"-n", "7", "-N", "2", "./p"}), std::pair(4, 2));
    EXPECT_EQ(shape({"--nnodes", "3", "-N", "2", "./p"}), std::pair(3, 2));
    EXPECT_EQ(shape({"-n", "5", "--nnodes", "3", "./p"}), std::pair(3, 2));
}

// What the root parses in its pod is what the user's options were.
TEST(RootArguments, SayTheSameInThePod) {
    auto const options = parse({"--image",   "i",         "-n",
                                "6",         "-N",        "2",
                                "--map-by",  "node",      "--oversubscribe",
                                "--bind-to", "core",      "--mpi",
                                "pmi1",      "--timeout", "90s",
                                "--grace",   "1500ms",    "--max-restarts",
                                "2",         "--no-kill", "-x",
                                "A=1 2",     "-x",        "B=-n",
                                "--wdir",    "/w",        "--report-map",
                                "./p",       "-n",        "x y",
                                "--",        "z"});
    auto const words = root_arguments(options, job_shape(options));
    ProcessContext context;
    context.folder = "/elsewhere";
    auto const there = parse_run(words, context);
    EXPECT_EQ(there.apps.size(), 1U);
    EXPECT_THAT(there.apps[0].argv, ElementsAre("./p", "-n", "x y", "--", "z"));
    EXPECT_EQ(there.apps[0].ranks, 6);
    EXPECT_EQ(there.apps[0].folder, "/w");
    EXPECT_EQ(there.env, options.env);
    EXPECT_EQ(there.nodes, 3);
    EXPECT_EQ(there.per_node, 2);
    EXPECT_EQ(there.map_by, MapBy::node);
    EXPECT_EQ(there.oversubscribe, true);
    EXPECT_EQ(there.bind_to, BindTo::core);
    EXPECT_EQ(there.mpi, MpiSupport::pmi1);
    EXPECT_EQ(there.timeout, options.timeout);
    EXPECT_EQ(there.grace, options.grace);
    EXPECT_EQ(there.max_restarts, 2);
    EXPECT_FALSE(there.kill_on_failure);
    EXPECT_TRUE(there.report_map);
    EXPECT_EQ(there.output, OutputFormat::json);
    EXPECT_EQ(there.stdin_to, "none");
}

TEST(RootArguments, KeepSeveralPrograms) {
    auto const options = parse({"--image", "i", "-genv", "J", "1", "-n", "1", "-x", "R=server",
                                "./a", ":", "-n", "3", "-x", "R=client", "./b", "c"});
    auto const there = parse_run(root_arguments(options, job_shape(options)), ProcessContext());
    ASSERT_EQ(there.apps.size(), 2U);
    EXPECT_EQ(there.env, options.env);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(there.apps[i].argv, options.apps[i].argv);
        EXPECT_EQ(there.apps[i].env, options.apps[i].env);
        EXPECT_EQ(there.apps[i].ranks, options.apps[i].ranks);
    }
}

}  // namespace
}  // namespace sinew::launch::kubernetes
