// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/flags.hpp"

#include <algorithm>
#include <numeric>

namespace sinew::launch {
namespace {

using Takes = Flag::Takes;
using For = Flag::For;

constexpr auto none = Takes::nothing;
constexpr auto one = Takes::value;
constexpr auto two = Takes::two_values;

// The order is that of the help.
// clang-format off
std::vector<Flag> const flags{
    {"np", "-n -np -c --n --np", "COUNT", one, For::program, "run",
     "how many ranks to start; default: all slots"},
    {"npernode", "-N -npernode --npernode -ppn --ppn", "COUNT", one, For::job, "run",
     "how many ranks on each node"},
    {"nnodes", "--nnodes --nodes", "COUNT", one, For::job, "run",
     "use the first COUNT hosts, ranks spread over all of them"},
    {"name", "--name", "NAME", one, For::job, "run",
     "name of the job, for sinew ps, logs, attach and stop; default: the program's and 5 letters"},
    {"gpu", "--gpu", "COUNT", one, For::job, "run",
     "how many GPUs each rank gets for itself; CUDA_VISIBLE_DEVICES names them"},
    {"x", "-x --x", "VAR[=VALUE]", one, For::program, "run",
     "set VAR for the ranks; without a value, take mine; 'VAR*' takes all that begin with VAR"},
    {"env", "-env", "VAR VALUE", two, For::program, "run", "as -x VAR=VALUE"},
    {"genv", "-genv", "VAR VALUE", two, For::job, "run", "as -x, for all programs of an MPMD job"},
    {"genvlist", "-genvlist", "VAR,VAR", one, For::job, "run", "as -x VAR for each"},
    {"env-file", "--env-file", "FILE", one, For::job, "run",
     "lines VAR=VALUE, or VAR to take mine; # begins a comment"},
    {"mca", "--mca -mca --gmca --omca", "KEY VALUE", two, For::job, "run",
     "for Open MPI: sets OMPI_MCA_KEY=VALUE"},
    {"pmixmca", "--pmixmca", "KEY VALUE", two, For::job, "run",
     "for PMIx: sets PMIX_MCA_KEY=VALUE"},
    {"wdir", "--wdir -wdir --wd -wd", "DIR", one, For::program, "run",
     "working directory of the ranks; default: this one where it exists"},
    {"mpi", "--mpi", "auto|pmix|pmi1|none", one, For::job, "run",
     "what to offer the program; auto looks at what it is linked with"},
    {"accelerate", "--accelerate", "", none, For::job, "run",
     "MPI programs pass collectives through shared memory; =openmpi or =mpich says whose they are"},
    {"dry-run", "--dry-run --do-not-launch", "", none, For::job, "run",
     "show which ranks would run where, start nothing; =yaml: a cluster's objects"},
    {"timing", "--timing", "", none, For::job, "run", "show where the start-up time went"},
    {"quiet", "-q --quiet", "", none, For::job, "run", "print nothing but errors"},
    {"verbose", "-v -vv --verbose", "", none, For::job, "run", "print more; twice: much more"},
    {"allow-run-as-root", "--allow-run-as-root", "", none, For::job, "run",
     "accepted, has no effect: root may"},

    {"hostfile", "--hostfile -hostfile --machinefile -machinefile -f", "FILE", one, For::job,
     "hosts", "hosts, one per line: 'node1 slots=4' or 'node1:4'"},
    {"host", "-H --host -host -hosts --hosts", "HOST[:N],...", one, For::job, "hosts",
     "hosts and slots; with a hostfile: which of its hosts"},
    {"backend", "--backend", "NAME", one, For::job, "hosts",
     "where ranks run: auto, local, ssh, docker, slurm, kubernetes, service; sinew info lists them"},
    {"launch-agent", "--launch-agent", "COMMAND", one, For::job, "hosts",
     "start agents by this command, with {host} in it"},
    {"fake-nodes", "--fake-nodes", "COUNT|S,S,...", one, For::job, "hosts",
     "for tests: COUNT nodes on this host, or one for each number of slots"},
    {"tree-fanout", "--tree-fanout", "K", one, For::job, "hosts",
     "children of each agent in the control tree; default 32"},
    {"root-address", "--root-address", "ADDRESS", one, For::job, "hosts",
     "address at which agents reach this command; default: detected"},

    {"map-by", "--map-by -map-by", "HOW", one, For::job, "mapping",
     "slot, node, core, socket, ppr:K:node; ':OVERSUBSCRIBE' may follow"},
    {"rank-order", "--rank-order", "topology|index|hostfile", one, For::job, "mapping",
     "order of the nodes in the ring; default: topology"},
    {"oversubscribe", "--oversubscribe -oversubscribe --nooversubscribe", "", none, For::job,
     "mapping", "allow (or refuse) more ranks than slots; default: only on one host"},
    {"bind-to", "--bind-to -bind-to", "auto|core|socket|package|none", one, For::job, "mapping",
     "what each rank is bound to; auto, the default: to sockets where that helps"},
    {"report-map", "--report-map --display-map --display-allocation", "", none, For::job,
     "mapping", "show which rank runs where"},
    {"report-bindings", "--report-bindings -report-bindings", "", none, For::job, "mapping",
     "show what each rank is bound to"},
    {"display", "--display", "map,bind", one, For::job, "mapping",
     "map: --report-map; bind: --report-bindings"},

    {"tag-output", "--tag-output -tag-output -l -prepend-rank", "", none, For::job, "output",
     "begin each line with its rank"},
    {"timestamp-output", "--timestamp-output -timestamp-output", "", none, For::job, "output",
     "begin each line with the time (RFC 3339)"},
    {"output-filename", "--output-filename -output-filename", "DIR", one, For::job, "output",
     "also write the output of each rank to files in DIR"},
    {"output", "--output", "LIST", one, For::job, "output",
     "any of tag, timestamp, json, plain, dir=DIR, separated by commas"},
    {"log-buffer", "--log-buffer", "SIZE", one, For::job, "output",
     "how much of the last output is kept for sinew logs, such as 16M; 0: none; default 1M"},
    {"dashboard", "--dashboard", "", none, For::job, "output",
     "serve a page about the job on this host, and print its address; =PORT: there"},
    {"stdin", "--stdin -stdin", "RANK|all|none", one, For::job, "output",
     "which ranks get the standard input; default: rank 0"},

    {"timeout", "--timeout -timeout --time-limit", "TIME", one, For::job, "failures",
     "stop the job after this time, with exit code 124; 0: never"},
    {"start-timeout", "--start-timeout", "TIME", one, For::job, "failures",
     "how long all nodes may take to report; default 1min"},
    {"grace", "--grace", "TIME", one, For::job, "failures",
     "time between SIGTERM and SIGKILL; default 5s"},
    {"max-restarts", "--max-restarts", "COUNT", one, For::job, "failures",
     "start the whole job again up to COUNT times when a rank fails"},
    {"no-kill", "--no-kill -disable-auto-cleanup --enable-recovery", "", none, For::job,
     "failures", "let the other ranks continue when one fails"},

    {"image", "--image", "IMAGE", one, For::job, "kubernetes",
     "the container image that has the program; for docker, too"},
    {"image-pull-policy", "--image-pull-policy", "Always|IfNotPresent|Never", one, For::job,
     "kubernetes", "when nodes pull the image; default: the cluster's rule"},
    {"image-pull-secret", "--image-pull-secret", "SECRET", one, For::job, "kubernetes",
     "a Secret with the registry's password; may be repeated"},
    {"agent-image", "--agent-image", "IMAGE", one, For::job, "kubernetes",
     "copy sinew from this image; default: --image has it"},
    {"namespace", "--namespace", "NAME", one, For::job, "kubernetes",
     "namespace of the job; default: the context's"},
    {"context", "--context", "NAME", one, For::job, "kubernetes",
     "context of the kubeconfig; default: the current one"},
    {"kubeconfig", "--kubeconfig", "FILE", one, For::job, "kubernetes",
     "default: $KUBECONFIG, ~/.kube/config, or the pod's service account"},
    {"cpu", "--cpu --cpus", "QUANTITY", one, For::job, "kubernetes",
     "CPUs requested for each rank, without a limit; default 1; 0: none; docker: the limit"},
    {"memory", "--memory", "QUANTITY", one, For::job, "kubernetes",
     "memory of each rank, such as 4Gi: requested, and the limit"},
    {"shm", "--shm", "QUANTITY", one, For::job, "kubernetes",
     "size limit of /dev/shm; default: the limit of the pod's memory"},
    {"volume", "--volume", "CLAIM[:PATH[:ro]]", one, For::job, "kubernetes",
     "mount a PersistentVolumeClaim; default path /persistent; may be repeated"},
    {"service-account", "--service-account", "NAME", one, For::job, "kubernetes",
     "of the pods; without it they get no token"},
    {"node-selector", "--node-selector", "LABEL=VALUE", one, For::job, "kubernetes",
     "only nodes with this label; may be repeated"},
    {"toleration", "--toleration", "KEY[=VALUE][:EFFECT]", one, For::job, "kubernetes",
     "nodes with this taint, too; may be repeated"},
    {"pod-template", "--pod-template", "FILE", one, For::job, "kubernetes",
     "a PodTemplateSpec that is merged into the pods' (strategic merge)"},
    {"label", "--label", "KEY=VALUE", one, For::job, "kubernetes",
     "label of all objects of the job; may be repeated"},
    {"annotation", "--annotation", "KEY=VALUE", one, For::job, "kubernetes",
     "annotation of the pods; may be repeated"},
    {"gang", "--gang", "none|auto|volcano|coscheduling|kueue[:QUEUE]", one, For::job, "kubernetes",
     "have all pods scheduled together; default: none"},
    {"network-policy", "--network-policy", "", none, For::job, "kubernetes",
     "let only pods of the job connect to its pods"},
    {"discovery", "--discovery", "vip|dns|api", one, For::job, "kubernetes",
     "how pods find the root: a Service's address (default), DNS, or the API"},
    {"ttl", "--ttl", "TIME", one, For::job, "kubernetes",
     "how long a job that has ended is kept if nobody removes it; default 1h"},
    {"detach", "-d --detach -a --attach", "", none, For::job, "kubernetes",
     "return when the job has been created; --attach, the default: show the output, end with the "
     "job's exit code, remove the job; for Slurm and --at, too"},

    {"mount", "--mount", "SOURCE[:TARGET[:ro]]", one, For::job, "docker",
     "let containers see a file or folder of this host; default target: the same path; may be "
     "repeated"},
    {"network", "--network", "NAME", one, For::job, "docker",
     "network of the containers, such as bridge or host; default: one for the job"},
    {"user", "--user", "UID[:GID]", one, For::job, "docker",
     "user in the containers; default: the image's"},
    {"gpus", "--gpus", "all", one, For::job, "docker",
     "let each container have all GPUs; --gpu gives each rank its own"},

    {"partition", "--partition", "NAME", one, For::job, "slurm", "partition of the job"},
    {"account", "--account", "NAME", one, For::job, "slurm", "account that is charged"},
    {"qos", "--qos", "NAME", one, For::job, "slurm", "quality of service"},
    {"time", "--time", "TIME", one, For::job, "slurm",
     "time limit as Slurm writes it: minutes, 1:30:00, 2-12"},
    {"gres", "--gres", "LIST", one, For::job, "slurm", "generic resources of each node: gpu:2"},
    {"constraint", "--constraint", "LIST", one, For::job, "slurm", "features that nodes must have"},
    {"exclusive", "--exclusive", "", none, For::job, "slurm", "share the nodes with no other job"},
    {"slurm-arg", "--slurm-arg", "OPTION", one, For::job, "slurm",
     "any other option of sbatch (with --native: of srun): --slurm-arg=--mem=4G; may be repeated"},
    {"native", "--native", "", none, For::job, "slurm",
     "have srun start the ranks (--mpi=pmix), without agents"},

    {"at", "--at", "HOST[:PORT]|SERVICE,...", one, For::job, "service",
     "run the job on a machine with sinew serve, when it is its turn; of several, "
     "on the first that is free"},
    {"key", "--key", "FILE", one, For::job, "service",
     "the key of the server; default ~/.config/sinew/key"},
    {"registry", "--registry", "HOST[:PORT]", one, For::job, "service",
     "the sinew registry that knows the services by name"},
    {"services", "--services", "FILE", one, For::job, "service",
     "services by name, lines HOST:PORT NAME...; default ~/.config/sinew/services"},
    {"priority", "--priority", "NUMBER", one, For::job, "service",
     "-1000 to 1000: those with more begin first; default 0"},
    {"keep", "--keep", "", none, For::job, "service",
     "let the job go on if this command is killed or loses the server"},

    {"help", "-h --help", "[TOPIC]", Takes::maybe_value, For::job, "run", "show help"},
    {"version", "-V --version", "", none, For::job, "run", "show the version"},
};
// clang-format on

std::string_view without_dashes(std::string_view spelling) {
    return spelling.substr(std::min(spelling.find_first_not_of('-'), spelling.size()));
}

std::string_view implied_by(std::string_view name) {
    if (name == "nooversubscribe" || name == "a" || name == "attach") return "no";
    return name == "vv" ? "2" : "yes";
}

/// The number of letters to insert, delete, replace, or swap with the next one.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
    std::iota(above.begin(), above.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            bool const same = a[i - 1] == b[j - 1];
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, above);
        std::swap(above, row);
    }
    return above[b.size()];
}

}  // namespace

std::vector<Flag> const& all_flags() { return flags; }

std::vector<std::string_view> spellings(Flag const& flag) {
    std::vector<std::string_view> words;
    for (std::string_view rest = flag.spellings; !rest.empty();) {
        std::size_t const end = std::min(rest.find(' '), rest.size());
        words.push_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return words;
}

FoundFlag find_flag(std::string_view name) {
    for (Flag const& flag : flags)
        for (std::string_view const spelling : spellings(flag))
            if (without_dashes(spelling) == name) return {&flag, implied_by(name)};
    return {};
}

Flag const* find_key(std::string_view key) {
    auto const at =
        std::find_if(flags.begin(), flags.end(), [&](Flag const& flag) { return flag.key == key; });
    return at == flags.end() ? nullptr : &*at;
}

std::string_view nearest(std::string_view word, std::vector<std::string_view> const& names) {
    // A third of the letters may differ, but at least one. Short words are too similar for more.
    std::size_t best = 1 + std::max<std::size_t>(1, word.size() / 3);
    std::string_view found;
    if (word.size() > 64) return found;
    for (std::string_view const name : names) {
        std::size_t const away = distance(word, name);
        if (away < best && away < name.size()) {
            best = away;
            found = name;
        }
    }
    return found;
}

std::string suggest_flag(std::string_view word) {
    std::string_view const name = without_dashes(word);
    std::vector<std::string_view> all, bare;
    for (Flag const& flag : flags)
        for (std::string_view const spelling : spellings(flag)) {
            all.push_back(spelling);
            bare.push_back(without_dashes(spelling));
        }
    std::string_view const like = nearest(name, bare);
    auto const at = std::find(bare.begin(), bare.end(), like);
    if (like.empty() || at == bare.end())
        return ". 'sinew run --help' lists the flags; those of the program go after its name";
    return ". Did you mean " + std::string(all[static_cast<std::size_t>(at - bare.begin())]) + "?";
}

}  // namespace sinew::launch
