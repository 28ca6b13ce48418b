// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/help.hpp"

namespace sinew::launch {
namespace {

constexpr std::string_view run =
    R"(usage: sinew run [flags] program [arguments] [: [flags] program [arguments]]...

Starts a program as many ranks, on this host or on many, shows their output,
and ends with the exit code of the rank that failed first. It needs no mpirun.

  sinew run -n 4 ./program --its-own-flag     4 ranks on this host
  sinew run -n 8 -H node1:4,node2:4 ./program 4 ranks on each of two hosts
  sinew run --hostfile hosts ./program        as many as the file has slots
  sinew run -n 1 ./server : -n 3 ./client     two programs, one job
  sinew run -n 4 --gpu 1 ./train              a GPU for each rank alone

Flags come first; everything after the program's name goes to it. Flags
of mpirun (Open MPI 4 and 5) and mpiexec (MPICH) mean what they mean there; one
that sinew does not know is an error. One dash or two are the same: -np, --np.
After a ':' there may be -n, -x, -env and --wdir, which apply to that program.
)";

constexpr std::string_view hosts =
    R"(Where to run: this host, or those of --hostfile and -H. Inside an
allocation of Slurm, PBS, LSF or Grid Engine: its hosts, unless -H, --hostfile
or --backend local say otherwise; --dry-run and -v show which.

  # hosts: one on each line, in either format
  node1 slots=4 max_slots=8       # Open MPI's
  node2:4                         # MPICH's
  alice@node3                     # as many slots as it has cores
  [2001:db8::7]:2                 # IPv6 in brackets

  sinew run --hostfile hosts ./program
  sinew run -H node1:4,node2 ./program        4 slots there, 1 here

A host that is named again adds its slots to the first; without a number it
then adds one. -H together with --hostfile chooses hosts of the file, in
the order of -H; a number given by -H replaces the one in the file.

Each host needs sinew and ssh without a password (ssh node1 true must work).
Agents then dial back: no other daemon, no shared folder. Other ways to reach
a host use a command, in which {host} is the host, {node} its number, and
{command} the command to run there (else it is appended):

  sinew run --launch-agent 'rsh {host}' -H node1,node2 ./program
  sinew run --launch-agent 'ip netns exec {host}' -H a,b ./program

Several nodes can be simulated on one host, to test a program that tells them
apart: --fake-nodes 2, or --fake-nodes 3,1,2 to give each its slots.
'sinew doctor -H node1,node2' shows what is wrong with a host.
)";

constexpr std::string_view output =
    R"(What the ranks write is shown as it comes, line by line: lines of different
ranks are never mixed, and nothing is dropped. A slow reader slows the ranks
down.

  sinew run -n 2 --tag-output ./program        [1]<stdout>: hello
  sinew run -n 2 --timestamp-output ./program  also with the time
  sinew run -n 2 --output-filename out ./program
                        also to files: out/rank.0.stdout, out/rank.0.stderr...
  sinew run -n 2 --output json ./program       one JSON object for each line,
                        and at the end a table of how every rank ended
  sinew run -n 4 --stdin all ./program < data  a copy for every rank

The last MiB (--log-buffer) is kept for whoever looks later, by name or its
beginning; sinew ps lists the jobs:

  sinew run --name train -n 8 ./train &
  sinew logs train -f --tail 20 -r 0      follow rank 0
  sinew attach train                      all output, and the exit code

A page in the browser shows ranks, pools, events and output; its address is
printed once, with the token that is needed (docs/dashboard.md):

  sinew run --dashboard -n 8 ./train      or --dashboard=PORT

Part of a line (a prompt) is shown after 100 ms. Rank 0 gets the standard
input; it is not read while sinew runs in the background.
)";

constexpr std::string_view failures =
    R"(When a rank fails, the others are stopped: SIGTERM, and SIGKILL after --grace.
A line names the rank that failed first, where and why. sinew run ends with

  0          all ranks ended normally
  1 to 123   the exit code of the rank that failed first
  128+n      that rank was killed by signal n: 137 is SIGKILL, 139 a crash
  124        --timeout has passed
  125        sinew itself failed: a host, an agent, the connection to one
  126, 127   the program cannot be executed, or does not exist
  2          the command line is wrong; nothing was started

Ranks that failed only because they were told to stop are not the cause.
TERM, INT, HUP, USR1, USR2, TSTP, CONT and WINCH are sent to the ranks; a
second INT (Ctrl-C) kills. Nothing is left behind, not even after kill -9.

  sinew run --timeout 2h -n 8 ./program
  sinew run --max-restarts 3 -n 8 ./train      the whole job again, up to 3
                        times; SINEW_RESTART tells it which restart this is
  sinew run --no-kill -n 8 ./survivor          the other ranks continue
  sinew stop train                             ends the job of that name

A collective in which ranks wait for each other ends by SINEW_TIMEOUT (5min):

  SINEW_BLACKBOX=boxes sinew run -n 8 ./train
  sinew doctor --blackbox boxes                which rank made another call, or
                        did not come: from what each wrote when it failed

Times are written as 500ms, 30s, 5min or 2h; a bare number is seconds.
)";

constexpr std::string_view mapping =
    R"(Ranks fill the slots of one node after the other; those of a node have numbers
in a row. A slot is a core unless hosts say otherwise. To see where ranks go:

  sinew run -n 8 -H node1:4,node2:4 --dry-run ./program
  sinew run -N 2 --hostfile hosts ./program    2 on each node
  sinew run --nnodes 2 -n 8 ...                8 spread over the first 2 hosts
  sinew run --map-by node -n 8 ...             0 here, 1 there, 2 here, ...
  sinew run --map-by ppr:2:node ...            as -N 2
  sinew run --bind-to core --report-bindings -n 4 ./program

Nodes are put in a ring that crosses each boundary once: by region, zone,
block and rack where agents know them (SINEW_PLACE=region/zone/block/rack in
their environment, or that in the node's file /etc/sinew/place; block/rack or
rack is enough), then by name, in which node2 comes before node10. The first
host named stays first: rank 0 is there. --rank-order hostfile (or index) keeps
the order in which hosts were named. Nodes that get no rank are left out.

On one host there may be more ranks than slots; on several hosts that needs
--oversubscribe, and max_slots of a hostfile still apply. Ranks that share a
core yield to each other while they wait.

Within a node, --bind-to places ranks: core, socket (package means the same)
or none. By default they are bound to sockets where there are several and
ranks for each, else not at all. So --map-by core and socket mean slot.
)";

constexpr std::string_view kubernetes =
    R"(The ranks run in pods of a cluster, which a kubeconfig (or, in a pod, its
service account) reaches. It needs rights in one namespace, and neither an
operator nor sshd: see docs/kubernetes.md and k8s/manifests/role.yaml.

  sinew run --backend kubernetes --image IMG -n 8 ./train       8 pods
  sinew run --backend kubernetes --image IMG -n 8 -N 2 ./train  4 pods
  sinew run --backend kubernetes --image IMG --gpu 1 nvidia-smi
  sinew run --backend kubernetes --image IMG --volume data:/data -n 4 ./train
  sinew run --backend kubernetes --image IMG -d --name sgd -n 4 ./train
  sinew logs sgd -f --backend kubernetes         also ps, attach, stop
  sinew events sgd                               what the cluster reports
  sinew scale sgd 8                              a job with --max-restarts
  sinew cp results.csv data:/runs/1.csv          to a claim, and back
  sinew forward sgd 6006 -r 3                    port 6006 of rank 3, from here

The pods' troubles are shown with their reasons: no node with enough GPUs, an
image that cannot be pulled, a quota. sinew run shows the output of all ranks,
ends with the job's exit code and removes the job. Ctrl-C deletes it. With -d
it goes on by itself, and is removed --ttl after its end.

A pod that is evicted, preempted, deleted or lost with its node is replaced,
and the job is started again if --max-restarts allows restarts; only failures
of ranks use up their number. --cpu, --memory and --gpu are of each rank.
A flag is kept for next time by its key in ~/.config/sinew/config:

  backend = kubernetes
  image = registry.example/ml/train:7
)";

constexpr std::string_view docker =
    R"(The ranks run in containers on this host, made by Docker (or podman) through
its socket: DOCKER_HOST=unix:///PATH, else /var/run/docker.sock.

  sinew run --backend docker --image IMG -n 4 ./train            one container
  sinew run --backend docker --image IMG --nodes 2 -n 4 ./train  two
  sinew run --backend docker --image IMG --mount . -n 4 ./train  program here
  sinew run --backend docker --image IMG --mount /data:/in:ro -n 4 ./train
  sinew run --backend docker --image IMG --gpu 1 -n 2 nvidia-smi
  sinew run --backend docker --image IMG --cpus 2 --memory 4Gi -n 4 ./train
  sinew ps --backend docker                      also logs, attach, stop

The program is in the image, or in a folder that --mount names; nothing else
of this host is seen, not even the current folder. The image needs no sinew:
containers see a copy of this one, which is kept in ~/.cache/sinew/copies. An
image that is missing is pulled. --cpus, --memory and --gpu are of each rank.
Containers and their network are removed at the end, also if sinew run is
killed.

A program that acquires nodes (Nodes::acquire) gets containers as workers, and
runs on the host itself, if it is started so:

  SINEW_BACKEND=docker SINEW_IMAGE=IMG ./program

Fiber's FIBER_BACKEND and FIBER_IMAGE mean the same. Details: docs/docker.md
)";

constexpr std::string_view slurm =
    R"(In an allocation of Slurm (salloc, sbatch) the ranks run on its nodes: agents
are started there by one srun, and no ssh is needed. Elsewhere sinew run
submits a job by sbatch, which runs the same command, and shows its output:

  salloc -N 2 sinew run -n 8 ./train
  sinew run --backend slurm -n 8 --time 30 ./train      submits, and follows
  sinew run --backend slurm --nodes 2 --gpu 1 -n 8 --partition gpu ./train
  sinew run --backend slurm -d --name sgd -n 8 ./train  goes on by itself
  sinew logs sgd -f --backend slurm                     also ps, attach, stop
  sinew run --backend slurm --native -n 8 ./train       srun --mpi=pmix

While the job waits, Slurm's reason is shown. Ctrl-C ends the job as it does
elsewhere: SIGINT, SIGKILL after --grace; again cancels it at once. The exit
code is that of the job; 124 if its time limit has passed. The folder in which
sinew run is started must be shared with the nodes: the job writes its output
there, into two files that are removed at the end. With -d they remain.

The ranks do not see the step in which their agent runs: of Slurm's variables
they get those of the job (SLURM_JOB_ID and the like). Details: docs/slurm.md
)";

constexpr std::string_view service =
    R"(A machine with GPUs that several people use can run sinew serve. Jobs wait
there until it is their turn, and run with GPUs of their own:

  sinew serve --new-key ~/.config/sinew/key    once; clients need the same file
  sinew serve --address 10.0.0.3               on the machine with the GPUs
  sinew run --at 10.0.0.3 --gpu 2 ./train      waits, runs, shows the output
  sinew run --at box1,box2 --gpu 2 ./train     on the one that is free first
  sinew run --at box1 -d --time-limit 2h --name sgd ./train
  sinew ps --at box1                           also logs, attach, stop
  sinew serve --dashboard                      a page about queue and GPUs

The job runs as the user of sinew serve, in this folder if it exists there,
with the variables of the server and those of -x. -n is the number of its ranks
(default: 1), --gpu the GPUs of each; --cpu and --memory are leased, too. Jobs
begin in the order in which they came, but first those with more --priority.
Ctrl-C ends the job. It also ends when this command is killed, unless --keep or
-d was said. Flags in configuration files, except those above, do not count.

Names instead of hosts come from ~/.config/sinew/services (lines HOST:PORT NAME
ALIAS...) or from a sinew registry (--registry). Details: docs/service.md
)";

constexpr std::string_view environment_help = R"(Every rank gets, under several names:

  SINEW_RANK SINEW_SIZE SINEW_LOCAL_RANK SINEW_LOCAL_SIZE
  SINEW_NODE SINEW_NODES SINEW_NODE_NAME       number of its node, of all; name
  SINEW_JOB_ID SINEW_JOB_FOLDER                removed with the job
  SINEW_RESTART SINEW_EPOCH                    0, then 1 for the first restart
  RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT
  OMPI_COMM_WORLD_RANK _SIZE _LOCAL_RANK _LOCAL_SIZE _NODE_RANK

and what PMIx or PMI-1 need. Ranks on this host inherit all variables; those
elsewhere PATH, LD_LIBRARY_PATH, PYTHONPATH, all with prefix SINEW_ OMPI_MCA_
PMIX_MCA_ MPIR_CVAR_ MPICH_ UCX_ FI_ NCCL_ OMP_ HWLOC_, CUDA_VISIBLE_DEVICES,
and what -x names. On several hosts NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME
name the network between them, unless they are set:

  sinew run -x OMP_NUM_THREADS=2 -x HOME -x 'AWS_*' -n 4 ./program
  sinew run --env-file job.env -n 4 ./program  # lines VAR=VALUE

Settings. Each flag has a key, its long name: --tag-output is tag-output (-n is
np, -N is npernode, -H is host, -x is x). It is taken from the first of

  the flag                                     --tag-output
  a variable SINEW_RUN_<KEY>                   SINEW_RUN_TAG_OUTPUT=yes
  .sinewrc in this folder                      tag-output = yes
  ~/.config/sinew/config                       the same

Switches are yes or no; # begins a comment. An unknown key is an error. So is a
file that others may write, as it may name commands to run. For the same
reason .sinewrc may set launch-agent, -x, --mca and the like only in folders
listed in ~/.config/sinew/trusted. -x, --mca and --env-file add up over all
of these, variable by variable; where to run (-H, --hostfile, --fake-nodes)
is taken as a whole from the first that sets any of it.

SINEW_TIMEOUT and others without RUN are read by the library in the ranks.
)";

constexpr std::string_view examples = R"(On this host
  sinew run -n 4 ./program
  sinew run ./program                          one rank for each core
  sinew run -n 4 python3 train.py --epochs 3

On others
  sinew run -n 8 -H node1:4,node2:4 ./program
  sinew run -N 1 --hostfile hosts hostname
  sinew run --hostfile hosts --dry-run ./program

More details
  sinew run -n 4 --tag-output --timestamp-output ./program
  sinew run -n 4 --report-map --report-bindings --bind-to core ./program
  sinew run -n 4 --timing ./program
  sinew run -n 4 -v gdb -batch -ex run -ex bt ./program

Limits
  sinew run --timeout 10min --grace 30s -n 4 ./program
  sinew run --max-restarts 2 -n 4 ./train

Testing several nodes on one host
  sinew run --fake-nodes 2 -n 4 ./program      2 ranks on each of 2 nodes
  sinew run --fake-nodes 3,1,2,4 ./program     10 ranks on 4 uneven ones

Several programs
  sinew run -n 1 -x ROLE=server ./a : -n 3 -x ROLE=client ./b

Coming from mpirun or mpiexec
  mpirun --oversubscribe -np 4 -x A ./p        sinew run -np 4 -x A ./p
  mpirun --map-by ppr:2:node --display map ./p sinew run, the same flags
  mpiexec -ppn 2 -f hosts -genv A 1 ./p        sinew run, the same flags
)";

}  // namespace

std::vector<HelpTopic> const& help_topics() {
    static std::vector<HelpTopic> const topics{
        {"run", "the command, how many ranks, their variables", run},
        {"hosts", "hostfiles, ssh and other ways to start agents", hosts},
        {"mapping", "which rank goes where, and what it is bound to", mapping},
        {"output", "tags, times, files, JSON, standard input", output},
        {"failures", "exit codes, timeouts, signals, restarts", failures},
        {"kubernetes", "pods, images, volumes, GPUs of a cluster", kubernetes},
        {"docker", "containers on this host", docker},
        {"slurm", "allocations of Slurm, and jobs that are submitted to it", slurm},
        {"service", "jobs of a machine with sinew serve", service},
        {"environment", "variables the ranks get; configuration files", environment_help},
        {"examples", "to copy from", examples},
    };
    return topics;
}

}  // namespace sinew::launch
