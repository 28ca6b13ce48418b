// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/job_run.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sinew/error.hpp>

#include "launchers/agent/rank_environment.hpp"
#include "launchers/common/durations.hpp"
#include "launchers/common/exit_codes.hpp"
#include "launchers/common/host_name.hpp"
#include "launchers/map/mapping.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// Output under way from one agent, so that all of them together stay within reason.
constexpr std::int64_t window_of_all = 64 << 20;

// Short, since it is part of socket paths; random, since a shared file system may see it.
std::string make_job_name() { return wire::Secret::random().hex().substr(0, 12); }

bool same_file(int a, int b) {
    struct ::stat first {
    }, second{};
    return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

OutputPrinter::Options printer_options(RunOptions const& options) {
    return {.tag = options.tag_output,
            .timestamp = options.timestamp_output,
            .json = options.output == OutputFormat::json,
            .folder = options.output_folder,
            .screen = true,
            .one_place = same_file(STDOUT_FILENO, STDERR_FILENO)};
}

}  // namespace

JobRun::JobRun(RunOptions options)
    : options_(std::move(options)), backend_(choose_backend(options_)),
      nodes_(requested_nodes(options_, host_name())), job_(make_job_name()),
      writer_(loop_,
              [this] {
                  if (phase_ == Phase::finishing) finish_step();
              }),
      printer_(printer_options(options_)) {}

JobRun::~JobRun() = default;

int JobRun::run() {
    // Those of the agents are their own; this one is for the root's socket.
    remove_stale_folders();
    if (backend_->on_this_host()) folder_.emplace(job_ + "-run");
    root_ = std::make_unique<Root>(
        loop_, listen_address(),
        wire::Credentials{.secret = secret_,
                          .self = {.node = 0xffffffff,
                                   .slot = 0,
                                   .epoch = 0,
                                   .name = text("sinew run on ", host_name())}},
        options_.tree_fanout,
        Root::Callbacks{
            .joined = [this](int node) { on_joined(node); },
            .lost = [this](int node, auto const& why) { on_lost(node, why); },
            .left =
                [this] {
                    if (phase_ == Phase::finishing) finish_step();
                },
            .message = [this](int node, Kind kind, auto body) { on_message(node, kind, body); }});
    agents_ = std::make_unique<AgentProcesses>(
        loop_, *backend_,
        AgentProcesses::Callbacks{
            .ended = [this](int node, auto const& end) { on_agent_ended(node, end); },
            .said = [this](
                        int node,
                        auto const& line) { notice(text("[", node_name(node), "] ", line), -1); }});
    auto const signals = loop_.signals(
        {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH},
        [this](int number) { on_signal(number); });
    if (options_.timeout)
        timers_.push_back(loop_.after(*options_.timeout, [this] {
            causes_.timed_out(in_words(*options_.timeout));
            watch_reader();
            failed();
        }));
    start_agents();
    run_loop();
    if (agents_->running()) {
        agents_.reset();  // kills them, both halves at once
        remove_stale_folders();
    }
    if (output_unread_) leave_output_behind();
    return code_.value_or(causes_.exit_code());
}

// ---- agents -------------------------------------------------------------------------------------

wire::Address JobRun::listen_address() const {
    if (backend_->on_this_host()) return wire::Address::unix_socket(folder_->path() + "/root.sock");
    bool const six = options_.root_address.find(':') != std::string::npos;
    return wire::Address::tcp(six ? "::" : "0.0.0.0", 0);
}

std::vector<std::string> JobRun::root_addresses() const {
    auto const& bound = root_->address();
    if (backend_->on_this_host()) return {bound.text()};
    if (!options_.root_address.empty())
        return {wire::Address::tcp(options_.root_address, bound.port).text()};
    std::vector<std::string> found;
    for (auto const& interface : wire::interfaces())
        if (interface.address.find(':') == std::string::npos)
            found.push_back(wire::Address::tcp(interface.address, bound.port).text());
    return found;
}

void JobRun::start_agents() {
    timeline_.mark("ready");
    expect_agents();
    for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) start_agent(node);
    timeline_.mark("agents started");
}

// Within --start-timeout all of them are to be there.
void JobRun::expect_agents() {
    start_timer_ = loop_.after(options_.start_timeout, [this] {
        if (phase_ != Phase::starting) return;
        std::string absent;
        for (std::size_t node = 0; node < nodes_.size(); ++node)
            if (!root_->present(static_cast<int>(node)))
                absent += text(absent.empty() ? "" : ", ", nodes_[node].name);
        causes_.launcher_failed(text("no agent came from ", absent, " within ",
                                     in_words(options_.start_timeout),
                                     ". See --start-timeout, sinew doctor"));
        failed();
    });
}

void JobRun::start_agent(int node) {
    auto const incarnation = incarnations_[node]++;
    root_->expect(node, incarnation);
    AgentConfig config{.job = job_,
                       .secret = secret_.hex(),
                       .node = node,
                       .name = nodes_[node].name,
                       .incarnation = incarnation,
                       .roots = root_addresses(),
                       .listen = static_cast<int>(nodes_.size()) > options_.tree_fanout,
                       .folders = {},
                       // We listen before it starts.
                       .patience_ms = 10'000};
    if (folder_) config.folders.push_back(folder_->path());
    agents_->start({.node = node, .host = nodes_[node].host, .configuration = config_line(config)});
}

void JobRun::on_joined(int node) {
    agents_->arrived(node);
    nodes_[node].cores = root_->hello(node).cores;
    nodes_[node].place = root_->hello(node).place;
    if (phase_ == Phase::finishing) return root_->send(node, Kind::finish, {});
    if (phase_ != Phase::starting) return;
    for (std::size_t other = 0; other < nodes_.size(); ++other)
        if (!root_->present(static_cast<int>(other))) return;
    try {
        launch();
    } catch (UsageError const& problem) {
        causes_.launcher_failed(problem.what());
        code_ = exit_usage;
        failed();
    }
}

// What nobody has caught ends the job like any other failure: agents are told, folders removed.
void JobRun::run_loop() {
    try {
        loop_.run();
    } catch (std::exception const& problem) {
        causes_.launcher_failed(problem.what());
        failed();
        loop_.run();
    }
}

// ---- ranks --------------------------------------------------------------------------------------

void JobRun::launch() {
    timeline_.mark("agents there");
    map_ = make_map(options_, nodes_);
    agent_of_node_.clear();
    for (auto const& node : map_.nodes) {
        auto const same = [&](Node const& other) { return other.name == node.name; };
        agent_of_node_.push_back(
            static_cast<int>(std::find_if(nodes_.begin(), nodes_.end(), same) - nodes_.begin()));
    }
    if (options_.report_map && epoch_ == 0) notice(show_map(map_, options_.apps), -1);
    auto const message = encode(order(map_));
    causes_ = {};
    pids_.clear();
    alive_.clear();
    for (int rank = 0; rank < map_.size(); ++rank) alive_.insert(rank);
    reported_.clear();
    names_.clear();
    phase_ = Phase::running;
    start_timer_ = {};
    root_->restart_fences(epoch_, agent_of_node_);
    root_->send(everyone, Kind::launch, {bytes_of(message)});
    // What an earlier epoch has read is gone; the new one reads on from there, or sees the end.
    input_left_.clear();
    if (input_ended_) on_input({});
    else ask_input();
}

Launch JobRun::order(JobMap map) {
    Launch launch{.epoch = epoch_,
                  .restart = restarts_,
                  .job = job_,
                  .data_key = secret_.derive(text("data plane ", epoch_)).hex(),
                  .map = std::move(map),
                  .agents = agent_of_node_,
                  .parents = root_->parents(),
                  .addresses = {},
                  .apps = options_.apps,
                  .env = {},
                  .folder = options_.folder,
                  .bind_to = options_.bind_to,
                  .mpi = options_.mpi,
                  .stdin_to = options_.stdin_to,
                  .master_address = root_->hello(agent_of_node_.front()).address,
                  .master_port = root_->hello(agent_of_node_.front()).free_port,
                  .window = std::clamp<std::int64_t>(
                      window_of_all / static_cast<std::int64_t>(nodes_.size()), 64 << 10, 4 << 20),
                  .report_bindings = options_.report_bindings && epoch_ == 0};
    for (int const agent : agent_of_node_) launch.addresses.push_back(root_->hello(agent).address);
    if (!backend_->on_this_host())
        for (auto const& [name, value] : own_variables())
            if (is_forwarded(name)) launch.env.emplace(name, value);
    for (auto const& [name, value] : options_.env) launch.env.insert_or_assign(name, value);
    return launch;
}

void JobRun::on_started(int node, std::vector<StartedRank> const& report) {
    std::set<int> missing;
    for (int const rank : ranks_on(node)) missing.insert(rank);
    for (auto const& started : report) {
        if (started.rank >= map_.size()) continue;  // nonsense
        if (started.error == 0 && started.rank >= 0) {
            missing.erase(started.rank);
            pids_[started.rank] = started.pid;
        } else if (started.rank >= 0) {
            causes_.rank_not_started(who(started.rank), started.error, started.step);
        } else {
            causes_.launcher_failed(text(node_name(node), ": ", started.step));
        }
    }
    for (int const rank : missing) alive_.erase(rank);
    reported_.insert(node);
    if (reported_.size() == agent_of_node_.size()) timeline_.mark("ranks started");
    if (!missing.empty()) failed();
    if (alive_.empty()) epoch_over();
}

std::vector<int> JobRun::ranks_on(int node) const {
    for (std::size_t i = 0; i < agent_of_node_.size(); ++i)
        if (agent_of_node_[i] == node) return map_.ranks_of(static_cast<int>(i));
    return {};
}

FirstCause::Who JobRun::who(int rank) const {
    auto const pid = pids_.find(rank);
    return {.rank = rank,
            .node = map_.nodes[map_.ranks[rank].node].name,
            .pid = pid == pids_.end() ? 0 : pid->second};
}

void JobRun::notice(std::string const& line, int verbosity) {
    if (options_.verbosity < verbosity) return;
    printer_.end_line(OutputStream::err);  // of a rank that has not finished its own
    write(printer_.take(), [this](WriteFailure const& failure) { output_failed(failure); });
    writer_.write(STDERR_FILENO, line.ends_with('\n') ? line : line + "\n", {});
}

}  // namespace sinew::launch
