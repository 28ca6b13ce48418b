// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/run.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <optional>
#include <sinew/error.hpp>
#include <string_view>

#include "k8s/api_error.hpp"
#include "k8s/objects/yaml.hpp"
#include "launchers/common/durations.hpp"
#include "launchers/common/exit_codes.hpp"
#include "launchers/common/job_name.hpp"
#include "launchers/common/job_timing.hpp"
#include "launchers/common/signals.hpp"
#include "launchers/io/printer_options.hpp"
#include "launchers/kubernetes/cluster.hpp"
#include "launchers/kubernetes/console.hpp"
#include "launchers/kubernetes/job_follower.hpp"
#include "launchers/kubernetes/objects/job_objects.hpp"
#include "launchers/kubernetes/submission.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::kubernetes {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// For pods to be removed, beyond their grace period.
constexpr auto removal_time = 20s;

// Names of Services begin with a letter, and those of jobs here have at most 50 characters.
std::string name_of(RunOptions const& options) {
    if (!options.name.empty()) return options.name;
    std::string_view program = options.apps.front().argv.front();
    program.remove_prefix(program.rfind('/') + 1);
    auto const name = make_job_name(program.substr(0, 40));
    return name.front() >= '0' && name.front() <= '9' ? text("job-", name) : name;
}

// One job from its creation to its removal.
class ClusterRun {
public:
    explicit ClusterRun(RunOptions options)
        : options_(std::move(options)), console_(printer_options(options_), options_.verbosity,
                                                 [this] { return signals_.count() > 0; }),
          client_(open_cluster(options_.kubernetes, [this] { return interrupts_creation(); })),
          name_(name_of(options_)), ns_(client_->configuration().ns) {}

    int run();

private:
    bool interrupts_creation();
    void create();
    int detached();
    void follow();
    void show_progress();
    bool give_up();
    void stop_job();
    bool abandon(Error const& problem);
    void remove();
    int conclude();

    RunOptions options_;
    Signals signals_;
    Console console_;
    std::unique_ptr<k8s::Client> client_;
    std::string const name_, ns_;
    JobTiming timing_;
    std::optional<JobObjects> objects_;
    std::optional<JobFollower> follower_;
    k8s::Registration signalled_;
    Clock::time_point root_deadline_;
    bool creating_ = true;
    int stopped_by_ = 0;  ///< a signal
    std::optional<JobEnd> end_;
    bool marked_root_ = false, marked_joined_ = false;
};

int ClusterRun::run() {
    try {
        create();
    } catch (Error const&) {
        if (signals_.count() == 0) throw;
        console_.notice("sinew: interrupted; what had been created is removed");
        return 128 + signals_.take();
    }
    creating_ = false;
    timing_.mark("created");
    if (options_.detach) return detached();
    console_.notice(text("sinew: job ", name_, " in namespace ", ns_, " (",
                         client_->configuration().source, ")"),
                    1);
    try {
        follow();
    } catch (Error const& problem) {
        console_.end_progress();
        if (abandon(problem)) throw;
        throw Error(text(problem.what(), ". Job ", name_, " in namespace ", ns_,
                         " may still run: see sinew attach ", name_, " and sinew stop ", name_,
                         ", with --backend kubernetes"));
    }
    remove();
    return conclude();
}

// A signal ends one call; those that remove what was created then take their time.
bool ClusterRun::interrupts_creation() {
    return creating_ && signals_.count() > 0 && std::exchange(creating_, false);
}

void ClusterRun::create() {
    auto& flags = options_.kubernetes;
    if (flags.gang == Gang::automatic) {
        flags.gang = available_gang(*client_);
        if (flags.gang == Gang::none)
            console_.notice(
                "sinew: --gang auto: this cluster has no PodGroups of Volcano or "
                "scheduler-plugins; pods are scheduled one by one");
    }
    std::string places;
    if (options_.rank_order == RankOrder::topology && job_shape(options_).nodes > 1)
        places = node_places(*client_);
    objects_.emplace(options_, name_, ns_, std::move(places));
    create_job(*client_, *objects_, ns_);
}

int ClusterRun::detached() {
    std::cout << name_ << '\n';
    console_.notice(text("sinew: job ", name_, " was created in namespace ", ns_, ". sinew attach ",
                         name_, " --backend kubernetes shows its output"));
    return 0;
}

void ClusterRun::follow() {
    root_deadline_ = Clock::now() + objects_->start_timeout();
    follower_.emplace(*client_, name_, ns_, objects_->shape().nodes,
                      JobFollower::Callbacks{
                          .output = [this](OutputRecord const& record) { console_.output(record); },
                          .notice = [this](std::string_view line) { console_.notice(line, -1); },
                          .result =
                              [this](std::string_view line) {
                                  if (options_.output == OutputFormat::json) console_.result(line);
                              },
                          .progress = [this] { show_progress(); }});
    signalled_ = client_->readable(signals_.fd(), [this] { stop_job(); });
    auto const over = [this] {
        return follower_->over() || console_.error() != 0 || stopped_by_ != 0 || give_up();
    };
    while (!client_->run_until(over, Clock::now() + 1h)) {}
    if (stopped_by_ == 0) return;
    // The ranks' last words, until their pods are gone or another signal arrives.
    auto const grace = std::chrono::ceil<std::chrono::seconds>(options_.grace) + removal_time;
    client_->run_until(
        [this] {
            return follower_->over() || follower_->without_pods() || signals_.count() > 1 ||
                   console_.error() != 0;
        },
        Clock::now() + grace);
}

void ClusterRun::show_progress() {
    auto const mark = [this](bool is, bool& marked, char const* what) {
        if (is && !std::exchange(marked, true)) timing_.mark(what);
    };
    mark(follower_->has_root(), marked_root_, "first pod runs");
    mark(follower_->pods().all_joined(), marked_joined_, "all pods joined");
    if (follower_->over()) return;  // what comes then is their removal
    for (auto const& line : follower_->pods().new_troubles())
        console_.notice(text("sinew: ", line));
    if (!marked_joined_) console_.progress(text(name_, ": ", follower_->pods().status()));
}

// Once the root runs, it has its own deadline for the agents.
bool ClusterRun::give_up() {
    if (end_ || follower_->has_root() || Clock::now() < root_deadline_) return end_.has_value();
    std::string why;
    for (auto const& line : follower_->pods().troubles()) why += text("; ", line);
    end_ = JobEnd{.exit_code = exit_launcher_failed,
                  .cause = text("no pod of job ", name_, " ran within ",
                                in_words(objects_->start_timeout()), " (--start-timeout)", why)};
    return true;
}

void ClusterRun::stop_job() {
    int const signal = signals_.take();
    if (stopped_by_ != 0) return;
    stopped_by_ = signal;
    console_.notice(text("sinew: ", ::strsignal(signal), ": deleting job ", name_,
                         " (again: without waiting for its pods)"));
    signals_.restart_count();
    delete_job(*client_, name_, ns_);
}

// Deletes a job that this user has no right to follow; one of which something was seen goes on.
bool ClusterRun::abandon(Error const& problem) {
    auto const* const refused = dynamic_cast<k8s::ApiError const*>(&problem);
    if (refused == nullptr || !refused->forbidden() || (follower_ && follower_->has_log()))
        return false;
    try {
        delete_job(*client_, name_, ns_);
        console_.notice(text("sinew: job ", name_, " was deleted, as it cannot be followed"));
        return true;
    } catch (Error const&) {
        return false;  // `problem` is told, and that the job may run
    }
}

void ClusterRun::remove() {
    timing_.mark("ended");
    if (follower_->over() && !end_) end_ = follower_->end();
    if (stopped_by_ != 0 && signals_.count() > 1) return;
    if (stopped_by_ == 0) delete_job(*client_, name_, ns_);
    auto const grace = std::chrono::ceil<std::chrono::seconds>(options_.grace) + removal_time;
    if (!client_->run_until([this] { return follower_->without_pods() || signals_.count() > 1; },
                            Clock::now() + grace))
        console_.notice(text("sinew: pods of job ", name_, " are still being removed after ",
                             in_words(grace), ": kubectl get pods -n ", ns_, " -l ",
                             "app.kubernetes.io/instance=", name_));
    timing_.mark("removed");
}

int ClusterRun::conclude() {
    if (options_.timing) console_.notice(text("sinew: ", timing_.text()), -1);
    if (console_.error() == EPIPE) return 128 + SIGPIPE;
    if (console_.error() == ECANCELED)
        return 128 + (stopped_by_ != 0 ? stopped_by_ : signals_.take());
    if (console_.error() != 0)
        throw SystemError(text("output of the ranks cannot be written (",
                               std::strerror(console_.error()), "); job ", name_, " was stopped"),
                          console_.error());
    if (stopped_by_ != 0) return 128 + stopped_by_;
    // Why a pod has failed is more than that the job has.
    if (end_->exit_code == exit_launcher_failed)
        for (auto const& line : follower_->pods().new_troubles())
            console_.notice(text("sinew: ", line), -1);
    if (end_->exit_code != 0 && !console_.has_said(end_->cause))
        console_.notice(text("sinew: ", end_->cause));
    return end_->exit_code;
}

}  // namespace

int run(RunOptions const& options) {
    ::signal(SIGPIPE, SIG_IGN);
    ClusterRun job(options);
    return job.run();
}

int plan(RunOptions const& options) {
    std::string ns = options.kubernetes.ns;
    if (ns.empty()) {
        try {
            ns = k8s::find_configuration({.kubeconfig = options.kubernetes.kubeconfig,
                                          .context = options.kubernetes.context,
                                          .ns = {}})
                     .ns;
        } catch (UsageError const&) {  // no cluster is needed to see the objects
            ns = "default";
        }
    }
    JobObjects const objects(options, name_of(options), ns, "");
    if (options.kubernetes.yaml) {
        std::cout
            << "# Contains the job's key: keep it secret. kubectl apply -f runs the job once.\n"
            << k8s::to_yaml(objects.all());
        return 0;
    }
    auto const shape = objects.shape();
    std::cout << "job " << objects.name() << " in namespace " << ns << ": " << shape.nodes
              << (shape.nodes == 1 ? " pod, " : " pods, ") << "up to " << shape.ranks_per_node
              << (shape.ranks_per_node == 1 ? " rank" : " ranks") << " each\n"
              << "image: " << options.kubernetes.image << "\nbackend: kubernetes\n"
              << "(ranks are placed when the pods know their nodes; --dry-run=yaml shows the "
                 "objects)\n";
    return 0;
}

}  // namespace sinew::launch::kubernetes
