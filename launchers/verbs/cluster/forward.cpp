// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <sinew/error.hpp>

#include "k8s/objects/pod_view.hpp"
#include "launchers/command_line/values.hpp"
#include "launchers/common/signals.hpp"
#include "launchers/io/output_record.hpp"
#include "launchers/kubernetes/cluster.hpp"
#include "launchers/kubernetes/kubectl/kubectl_output.hpp"
#include "launchers/kubernetes/kubectl/port_forward.hpp"
#include "launchers/kubernetes/objects/pod_template.hpp"
#include "launchers/kubernetes/rank_pod.hpp"
#include "launchers/verbs/cluster/cluster_flags.hpp"
#include "launchers/verbs/cluster/cluster_verbs.hpp"
#include "launchers/verbs/cluster/kubernetes_jobs.hpp"
#include "launchers/verbs/host_jobs.hpp"
#include "launchers/verbs/verb_options.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

namespace po = boost::program_options;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr char forward_usage[] =
    "sinew forward JOB [LOCAL:]REMOTE [flags]: reach a port of a rank from this host\n\n"
    "  sinew forward train 6006          TensorBoard of rank 0, at http://127.0.0.1:6006\n"
    "  sinew forward train 8080:80 -r 3  port 80 of rank 3, at port 8080 here\n"
    "  sinew forward train :5678 --json  at any free port, which the JSON names\n\n"
    "The rank's pod is found by the job's log. Connections go to 127.0.0.1 in that pod; ranks of\n"
    "one pod share its ports. The port here is open until Ctrl-C, or until the pod ends, which is\n"
    "an error. Only this host can reach it; --address 0.0.0.0 opens it to everyone. kubectl must\n"
    "be in PATH. For jobs on a cluster; a job elsewhere is reached directly, or by ssh -L.\n\n"
    "exit code: 130 after Ctrl-C, 1 without such a job, 125 if the port cannot be forwarded\n\n";

struct Plan {
    std::string job;  ///< as it was given, then its name
    int rank = 0;
    bool json = false;
    kubernetes::PortForward::Route route;
};

std::uint16_t port_of(std::string const& word, std::string const& given, int least) {
    auto const port = parse_int(word, least, 65535);
    if (!port)
        throw UsageError(text("port ", given,
                              " (must be REMOTE or LOCAL:REMOTE, with numbers from 1 "
                              "to 65535; :REMOTE takes any free port here)"));
    return static_cast<std::uint16_t>(*port);
}

// "6006", "8080:80", ":80", "0:80"
void set_ports(kubernetes::PortForward::Route& route, std::string const& word) {
    auto const colon = word.find(':');
    bool const one = colon == word.npos;
    route.remote = port_of(one ? word : word.substr(colon + 1), word, 1);
    if (one) route.local = route.remote;
    else route.local = colon == 0 ? std::uint16_t{0} : port_of(word.substr(0, colon), word, 0);
}

// Fails where kubectl would, with a remedy. The address is written as kubectl writes it.
void check_local_port(kubernetes::PortForward::Route& route) {
    sockaddr_in v4{
        .sin_family = AF_INET, .sin_port = htons(route.local), .sin_addr = {}, .sin_zero = {}};
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = v4.sin_port;
    bool const is_v4 = ::inet_pton(AF_INET, route.address.c_str(), &v4.sin_addr) == 1;
    if (!is_v4 && ::inet_pton(AF_INET6, route.address.c_str(), &v6.sin6_addr) != 1)
        throw UsageError(text("--address ", route.address,
                              " (must be an IP address of this host, such as 127.0.0.1 or ::1)"));
    std::array<char, INET6_ADDRSTRLEN> canonical{};
    if (is_v4) ::inet_ntop(AF_INET, &v4.sin_addr, canonical.data(), canonical.size());
    else ::inet_ntop(AF_INET6, &v6.sin6_addr, canonical.data(), canonical.size());
    route.address = canonical.data();
    UniqueFd const socket(::socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int const on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    auto const* const address =
        is_v4 ? reinterpret_cast<sockaddr*>(&v4) : reinterpret_cast<sockaddr*>(&v6);
    // A port that somebody listens on is only refused to somebody who listens, too.
    if (socket && ::bind(socket.get(), address, is_v4 ? sizeof v4 : sizeof v6) == 0 &&
        ::listen(socket.get(), 1) == 0)
        return;
    int const error = errno;
    auto const any = text("Give another, or :", route.remote, " for any free one");
    auto const where = text("port ", route.local, " of ", route.address, " on this host ");
    if (error == EADDRINUSE) throw Unavailable(text(where, "is taken. ", any));
    throw Unavailable(text(where, "cannot be opened (", std::strerror(error), "). ", any));
}

std::string missing_role(std::string const& right, std::string const& ns, std::string const& why) {
    return text("forbidden: ", right, " in namespace ", ns, " (", why,
                "). Ask for the Role in k8s/manifests/role.yaml: kubectl apply -n ", ns,
                " -f k8s/manifests/role.yaml");
}

/// Forwards until a signal, or until the pod or kubectl cannot go on.
class Forwarder {
public:
    Forwarder(k8s::Client& client, KubernetesOptions const& options, Plan plan, std::ostream& out,
              std::ostream& err)
        : client_(client), options_(options), plan_(std::move(plan)), out_(out), err_(err) {}

    /// Returns 128 and the signal's number. Throws Unavailable.
    int run() {
        Signals signals;
        int signal = 0;
        auto const on_signal = client_.readable(signals.fd(), [&] { signal = signals.take(); });
        auto const& route = plan_.route;
        auto const watch = client_.watch(
            k8s::pods,
            {.ns = route.ns, .label_selector = {}, .field_selector = "metadata.name=" + route.pod},
            [this](auto const& event) { on_pod(event); });
        start();
        while (signal == 0 && !failure_)
            client_.run_until([&] { return signal != 0 || failure_; }, Clock::now() + 1h);
        forward_.reset();
        if (signal != 0) return 128 + signal;
        throw Unavailable(*failure_);
    }

private:
    std::string pod() const { return text("the pod of rank ", plan_.rank, ", ", plan_.route.pod); }
    void fail(std::string const& why) {
        if (!failure_) failure_ = why;
    }

    void start() {
        forward_ = std::make_unique<kubernetes::PortForward>(
            client_, options_, plan_.route,
            kubernetes::PortForward::Callbacks{
                .listens = [this](std::uint16_t local) { on_listens(local); },
                .ended = [this](std::string const& why) { on_end(std::string(why)); }});
    }

    void on_listens(std::uint16_t local) {
        last_good_ = Clock::now();
        delay_ = first_delay;
        if (announced_) return;
        announced_ = true;
        auto& route = plan_.route;
        route.local = local;
        if (plan_.json) {
            out_ << nlohmann::json{{"job", plan_.job}, {"rank", plan_.rank},
                                   {"pod", route.pod}, {"address", route.address},
                                   {"port", local},    {"remote_port", route.remote}}
                        .dump();
        } else {
            bool const v6 = route.address.find(':') != std::string::npos;
            out_ << (v6 ? "[" : "") << route.address << (v6 ? "]:" : ":") << local << " is port "
                 << route.remote << " of rank " << plan_.rank << " of " << plan_.job << " (pod "
                 << route.pod << "); Ctrl-C ends it";
        }
        out_ << '\n' << std::flush;
    }

    // kubectl ends with the first connection that fails; the pod may accept the next one.
    void on_end(std::string const& why) {
        auto const& route = plan_.route;
        auto const right = kubernetes::missing_right(why);
        auto const words = right ? missing_role(*right, route.ns, why) : why;
        bool const refused = why.find("connection refused") != why.npos;
        if (!announced_ || right || Clock::now() - last_good_ > give_up_after)
            return fail(
                text("port ", route.remote, " of ", pod(), ", cannot be forwarded: ", words));
        if (delay_ == first_delay) {
            if (refused)
                err_ << "sinew forward: nothing listens on port " << route.remote << " of " << pod()
                     << " (connection refused); the next connection is tried again\n";
            else
                err_ << "sinew forward: connections to " << pod()
                     << " were lost, new ones are possible soon: " << words << '\n';
        }
        retry_ = client_.after(delay_, [this] { start(); });
        delay_ = std::min<Clock::duration>(2 * delay_, 2s);
    }

    void on_pod(k8s::WatchEvent const& event) {
        using Type = k8s::WatchEvent::Type;
        if (event.type == Type::failed) std::rethrow_exception(event.failure);
        if (event.type == Type::deleted || (event.type == Type::synced && !seen_))
            return fail(text(pod(), ", was deleted"));
        if (event.object == nullptr) return;
        seen_ = true;
        k8s::PodView const view(*event.object);
        auto const* const container = view.container(kubernetes::container_name);
        if (!view.finished() &&
            (container == nullptr || container->state != k8s::ContainerView::State::terminated))
            return;
        auto const trouble = view.trouble();
        fail(text(pod(), ", has ended", trouble.empty() ? "" : " (", trouble,
                  trouble.empty() ? "" : ")"));
    }

    static constexpr Clock::duration first_delay = 200ms, give_up_after = 1min;

    k8s::Client& client_;
    KubernetesOptions const& options_;
    Plan plan_;
    std::ostream &out_, &err_;
    std::unique_ptr<kubernetes::PortForward> forward_;
    k8s::Registration retry_;
    Clock::duration delay_ = first_delay;
    Clock::time_point last_good_ = Clock::now();
    bool announced_ = false, seen_ = false;
    std::optional<std::string> failure_;
};

// How a job that is not on a cluster is reached.
[[noreturn]] void not_on_cluster(JobSummary const& job, Plan const& plan) {
    auto const port = plan.route.remote;
    if (job.backend == "local")
        throw UsageError(text("job ", job.name,
                              " runs on this host, and nothing needs to be "
                              "forwarded: connect to 127.0.0.1:",
                              port));
    if (job.ranks > 0 && plan.rank >= job.ranks)
        throw UsageError(text("rank ", plan.rank, " of job ", job.name, " is out of range (0 to ",
                              job.ranks - 1, ")"));
    std::string host = "HOST";
    for (auto const& rank : job.per_rank)
        if (rank.rank == plan.rank) host = rank.node.empty() ? rank.host : rank.node;
    throw UsageError(text("job ", job.name, " runs on hosts (backend ", job.backend,
                          "), which ssh forwards: ssh -N -L ",
                          plan.route.local != 0 ? plan.route.local : port, ":127.0.0.1:", port, " ",
                          host, host == "HOST" ? ", with the host of the rank" : ""));
}

// The job on the cluster; null, after saying so, if there is none.
std::unique_ptr<JobHandle> cluster_job(po::variables_map const& values, Plan const& plan,
                                       std::ostream& err) {
    auto const backend = values["backend"].as<std::string>();
    std::unique_ptr<JobHandle> here;
    if (backend != "kubernetes") {
        HostJobs jobs(backend == "auto" ? "" : backend);
        here = backend == "auto" ? jobs.find(plan.job) : find_job(jobs, plan.job, "forward", err);
        if (backend != "auto" && !here) return nullptr;
        if (backend != "auto") not_on_cluster(here->summary(), plan);
    }
    std::unique_ptr<JobSource> source;
    try {
        source =
            make_kubernetes_jobs({.backend = "kubernetes", .kubernetes = cluster_options(values)});
        if (here)
            if (auto found = source->find(plan.job)) return found;
    } catch (Error const&) {  // of a cluster that the job is not on
        if (!here) throw;
    }
    if (here) not_on_cluster(here->summary(), plan);
    return find_job(*source, plan.job, "forward", err);
}

Plan plan_of(po::variables_map const& values) {
    auto const words = jobs_of(values);
    if (words.size() != 2)
        throw UsageError(
            "a job and a port are expected: sinew forward JOB [LOCAL:]REMOTE. sinew ps "
            "lists jobs");
    Plan plan;
    plan.job = words[0];
    set_ports(plan.route, words[1]);
    auto const rank = values["rank"].as<std::string>();
    auto const number = parse_int(rank, 0, most_ranks_of_job - 1);
    if (!number) throw UsageError(text("--rank ", rank, " (must be a rank: a number from 0)"));
    plan.rank = *number;
    plan.json = values.count("json") != 0;
    plan.route.address = values["address"].as<std::string>();
    return plan;
}

}  // namespace

int forward_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err) {
    auto flags = verb_flags();
    flags.add_options()("rank,r", po::value<std::string>()->default_value("0")->value_name("RANK"),
                        "whose port it is")(
        "address", po::value<std::string>()->default_value("127.0.0.1")->value_name("IP"),
        "of this host, where the port is opened")("json", "print where, as one line of JSON");
    auto all = flags;
    all.add_options()("job", po::value<std::vector<std::string>>());
    auto const values = parse_small(arguments, all, "forward", "job");
    if (values.count("help") != 0) {
        out << forward_usage << flags;
        return 0;
    }
    auto plan = plan_of(values);
    check_local_port(plan.route);
    auto const job = cluster_job(values, plan, err);
    if (!job) return 1;
    auto const summary = job->summary();
    auto const options = cluster_options(values);
    auto const client = kubernetes::open_cluster(options);
    plan.job = summary.name;
    plan.route.ns = summary.host;
    plan.route.pod = kubernetes::find_rank_pod(*client, summary.name, summary.host, summary.nodes,
                                               summary.ranks, plan.rank);
    return Forwarder(*client, options, std::move(plan), out, err).run();
}

}  // namespace sinew::launch
