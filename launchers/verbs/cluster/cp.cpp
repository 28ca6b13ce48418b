// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <sinew/error.hpp>

#include "launchers/cli/small_options.hpp"
#include "launchers/kubernetes/claim_pod.hpp"
#include "launchers/kubernetes/cluster.hpp"
#include "launchers/kubernetes/kubectl/kubectl.hpp"
#include "launchers/kubernetes/objects/pod_template.hpp"
#include "launchers/program/child_program.hpp"
#include "launchers/verbs/cluster/cluster_flags.hpp"
#include "launchers/verbs/cluster/cluster_verbs.hpp"
#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

namespace po = boost::program_options;
using Words = std::vector<std::string>;

constexpr char cp_usage[] =
    "sinew cp SOURCE TARGET [flags]: copies a file or a folder to a PersistentVolumeClaim, or "
    "from\n"
    "one; CLAIM:PATH is the side in the cluster\n\n"
    "  sinew cp data.csv nfs:/in/data.csv --image debian:12\n"
    "  sinew cp nfs:/runs ./runs            a folder, into ./runs\n\n"
    "A pod that mounts the claim copies, and is removed. Its image needs sh and tar; default:\n"
    "SINEW_RUN_IMAGE. kubectl must be in PATH. The exit code is 0 if all was copied, else that of\n"
    "tar.\n\n";

struct Side {
    std::string claim;  ///< empty: on this host
    std::string path;
};

// "nfs:/in/data.csv"; a path with a slash before its first colon is on this host.
Side parse_side(std::string const& word) {
    auto const colon = word.find(':');
    if (colon == std::string::npos || word.find('/') < colon || colon == 0) return {"", word};
    std::string path = word.substr(colon + 1);
    // As Fiber's documents write it: the path in the pod.
    if (path == "/persistent" || path.starts_with("/persistent/")) path = path.substr(11);
    while (path.starts_with('/')) path.erase(0, 1);
    return {word.substr(0, colon), path.empty() ? "." : path};
}

std::string parent_of(std::string const& path) {
    auto const parent = std::filesystem::path(path).parent_path().string();
    return parent.empty() ? "." : parent;
}

std::string name_of(std::string const& path) {
    auto const name = std::filesystem::path(path).lexically_normal();
    return name.has_filename() ? name.filename().string() : name.parent_path().filename().string();
}

// kubectl executes a script in the pod.
Words in_pod(KubernetesOptions const& options, kubernetes::ClaimPod const& pod, bool input,
             std::string const& script, Words const& arguments) {
    auto words = kubernetes::kubectl_command(options, pod.ns(), "exec");
    if (input) words.push_back("-i");
    words.insert(words.end(),
                 {"-c", kubernetes::container_name, pod.name(), "--", "sh", "-c", script, "sh"});
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
}

// Two programs, the first of which writes what the second reads. Returns the first failure.
int pipeline(Words const& writer, Words const& reader) {
    auto [read_end, write_end] = make_pipe();
    ChildProgram first(writer, {.out = write_end.get()});
    ChildProgram second(reader, {.in = read_end.get()});
    read_end = {};
    write_end = {};
    int const written = first.wait(), taken = second.wait();
    return taken != 0 ? taken : written;
}

// TARGET names the copy; a folder that exists, or a name that ends with '/', gets it under its name.
int upload(KubernetesOptions const& options, kubernetes::ClaimPod const& pod,
           std::string const& source, std::string const& target) {
    static constexpr char script[] =
        "set -e; cd /persistent; t=$1; n=$2; "
        "if [ -d \"$t\" ] || [ \"${t%/}\" != \"$t\" ]; then mkdir -p \"$t\"; tar -x -f - -C "
        "\"$t\"; "
        "else d=$(dirname \"$t\"); mkdir -p \"$d\"; w=$(mktemp -d \"$d/.sinew-cp-XXXXXX\"); "
        "tar -x -f - -C \"$w\" && mv \"$w/$n\" \"$t\" || { c=$?; rm -rf \"$w\"; exit $c; }; "
        "rm -rf \"$w\"; fi";
    auto const name = name_of(source);
    return pipeline({"tar", "-c", "-f", "-", "-C", parent_of(source), "--", name},
                    in_pod(options, pod, true, script, {target, name}));
}

int download(KubernetesOptions const& options, kubernetes::ClaimPod const& pod,
             std::string const& source, std::string const& target) {
    namespace fs = std::filesystem;
    bool const into = fs::is_directory(target) || target.ends_with('/');
    auto const folder = into ? target : parent_of(target);
    fs::create_directories(folder);
    auto work = (fs::path(folder) / ".sinew-cp-XXXXXX").string();
    if (::mkdtemp(work.data()) == nullptr)
        throw SystemError(text(folder, " cannot be written (", std::strerror(errno), ")"), errno);
    static constexpr char script[] =
        "cd /persistent && tar -c -f - -C \"$(dirname \"$1\")\" -- \"$(basename \"$1\")\"";
    int const code = pipeline(in_pod(options, pod, false, script, {source}),
                              {"tar", "-x", "-f", "-", "-C", work});
    if (code == 0) {
        auto const name = name_of(source);
        auto const from = name == "." ? fs::path(work) : fs::path(work) / name;
        fs::rename(from, into && name != "." ? fs::path(target) / name : fs::path(target));
    }
    std::error_code ignored;
    fs::remove_all(work, ignored);
    return code;
}

}  // namespace

int cp_main(Words const& arguments, std::ostream& out) {
    po::options_description flags("flags");
    flags.add_options()("help,h", "this text")("image",
                                               po::value<std::string>()->value_name("IMAGE"),
                                               "of the pod that copies; needs sh and tar");
    add_cluster_flags(flags);
    auto all = flags;
    all.add_options()("words", po::value<Words>());
    auto const values = parse_small(arguments, all, "cp", "words");
    if (values.count("help") != 0) {
        out << cp_usage << flags;
        return 0;
    }
    auto const words = values.count("words") != 0 ? values["words"].as<Words>() : Words();
    if (words.size() != 2)
        throw UsageError("a source and a target are expected: sinew cp SOURCE CLAIM:PATH");
    auto const source = parse_side(words[0]), target = parse_side(words[1]);
    if (source.claim.empty() == target.claim.empty())
        throw UsageError(text("cp ", words[0], " ", words[1],
                              source.claim.empty() ? " (one side must be CLAIM:PATH)"
                                                   : " (one side must be on this host)"));
    auto options = cluster_options(values);
    if (options.image.empty())
        throw UsageError("cp needs --image (or SINEW_RUN_IMAGE), with sh and tar");
    if (source.claim.empty() && !std::filesystem::exists(source.path))
        throw UsageError(text(source.path, " does not exist"));
    ::signal(SIGPIPE, SIG_IGN);
    auto const client = kubernetes::open_cluster(options);
    kubernetes::ClaimPod const pod(*client, options,
                                   source.claim.empty() ? target.claim : source.claim);
    return source.claim.empty() ? upload(options, pod, source.path, target.path)
                                : download(options, pod, source.path, target.path);
}

}  // namespace sinew::launch
