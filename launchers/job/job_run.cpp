// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/job_run.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <sinew/error.hpp>
#include <string_view>
#include <utility>

#include "launchers/agent/init_process.hpp"
#include "launchers/agent/rank_environment.hpp"
#include "launchers/common/durations.hpp"
#include "launchers/common/host_name.hpp"
#include "launchers/common/job_name.hpp"
#include "launchers/io/printer_options.hpp"
#include "launchers/io/rank_nodes.hpp"
#include "launchers/job/joined_record.hpp"
#include "launchers/job/root_address.hpp"
#include "launchers/job/summary/summarize.hpp"
#include "launchers/job/summary/summary_file.hpp"
#include "launchers/map/mapping.hpp"
#include "src/base/bytes.hpp"
#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/scope_exit.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// Bytes of output in flight from all agents together; each gets an equal share.
constexpr std::int64_t window_of_all = 64 << 20;

// Short, since it is part of socket paths; random, since hosts may share a file system.
std::string make_job_id() { return wire::Secret::random().hex().substr(0, 12); }

std::vector<std::string> names_of(std::vector<Node> const& nodes) {
    std::vector<std::string> names;
    for (auto const& node : nodes) names.push_back(node.name);
    return names;
}

// When all is done, they must not change how this process ends. SIGQUIT still ends it, should that take long.
void block_requests_to_end() {
    sigset_t requests;
    ::sigemptyset(&requests);
    for (int const number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&requests, number);
    ::pthread_sigmask(SIG_BLOCK, &requests, nullptr);
}

}  // namespace

JobRun::JobRun(RunOptions options)
    : JobRun(options, {.backend = choose_backend(options),
                       .job = make_job_id(),
                       .secret = wire::Secret::random(),
                       .port = 0,
                       .address = {},
                       .first_nodes = 0,
                       .nodes = requested_nodes(options, host_name()),
                       .wanted = {},
                       .node = {}}) {}

JobRun::JobRun(RunOptions options, Arranged arranged)
    : options_(std::move(options)), arranged_(std::move(arranged)),
      backend_(std::move(arranged_.backend)), nodes_(std::move(arranged_.nodes)),
      job_(arranged_.job), secret_(arranged_.secret),
      name_(options_.name, options_.apps.front().argv.front(), !backend_->on_this_host()),
      output_(
          loop_, printer_options(options_),
          {.credit =
               [this](int node, std::int64_t bytes) {
                   root_->send(node, Kind::credit, {bytes_of(bytes)});
               },
           .failed = [this](int error,
                            auto const& where) { perform(machine_.output_failed(error, where)); },
           .settled = [this] { on_output_settled(); }}),
      input_(
          loop_, options_.stdin_to,
          {.send = [this](int node,
                          auto const& bytes) { root_->send(node, Kind::input, {bytes_of(bytes)}); },
           .present = [this](int node) { return root_->present(node); },
           .running = [this] { return machine_.running(); }}),
      machine_({.nodes = names_of(nodes_),
                .start_timeout = options_.start_timeout.value_or(std::chrono::minutes(1)),
                .grace = std::chrono::duration_cast<std::chrono::milliseconds>(options_.grace),
                .max_restarts = options_.max_restarts,
                .kill_on_failure = options_.kill_on_failure,
                .by_itself = [this](int node) { return backend_->comes_by_itself(node); },
                .root_node = arranged_.port != 0 ? nodes_.front().name : std::string()},
               *this) {}

JobRun::~JobRun() = default;

int JobRun::run() {
    // This folder is for the root's socket; agents make their own.
    remove_stale_folders();
    backend_->prepare(name_.name());
    open_control();
    if (backend_->on_this_host()) folder_.emplace(job_ + "-run");
    open_root();
    agents_ = std::make_unique<AgentProcesses>(
        loop_, *backend_,
        AgentProcesses::Callbacks{
            .ended = [this](int node, auto const& end) { on_agent_process_ended(node, end); },
            .said =
                [this](int node, auto const& line) {
                    notice(node < 0 ? line : text("[", nodes_.at(node).name, "] ", line), -1);
                }});
    auto const signals = loop_.signals(
        {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH},
        [this](int number) { on_signal(number); });
    ScopeExit const removal([this] {
        agents_.reset();
        remove_folders();
        block_requests_to_end();
    });
    accept_signals();
    open_dashboard();
    if (options_.timeout)
        timeout_ = loop_.after(*options_.timeout, [this] {
            output_.limit_patience();
            perform(machine_.timed_out(in_words(*options_.timeout)));
        });
    if (arranged_.wanted)
        changes_ = loop_.every(std::chrono::seconds(1), [this] { look_for_changes(); });
    timing_.mark("ready");
    perform(machine_.begin());
    timing_.mark("agents started");
    run_loop();
    control_->finish(machine_.exit_code(), machine_.causes().summary());
    if (dashboard_) dashboard_->finish(machine_.exit_code());
    if (agents_->running()) {
        agents_.reset();  // kills both processes of each agent
        remove_stale_folders();
    }
    if (output_.unread()) leave_output_behind();
    return machine_.exit_code();
}

// An exception that nothing has caught ends the job like any other failure: agents are told, folders
// removed.
void JobRun::run_loop() {
    try {
        loop_.run();
    } catch (std::exception const& problem) {
        performing_ = false;
        actions_.clear();
        perform(machine_.internal_error(problem.what()));
        loop_.run();
    }
}

// ---- the verbs ----------------------------------------------------------------------------------

void JobRun::open_control() {
    control_.emplace(
        loop_, name_.folder(), ControlServer::Settings{.log_bytes = options_.log_buffer},
        ControlServer::Callbacks{
            .summary = [this] { return summary(); },
            .stop =
                [this](ControlRequest const& request, std::string const& by) {
                    perform(machine_.told_to_stop(by, request.grace, request.now));
                    if (request.now) return std::chrono::milliseconds(0);
                    return request.grace.value_or(
                        std::chrono::duration_cast<std::chrono::milliseconds>(options_.grace));
                }});
}

JobSummary JobRun::summary() const {
    auto job = summarize(machine_, options_, static_cast<int>(nodes_.size()), [this](int agent) {
        return root_->present(agent) ? root_->hello(agent).host : std::string();
    });
    job.name = name_.name();
    job.id = job_;
    job.backend = backend_->name();
    job.started = started_;
    return job;
}

void JobRun::open_dashboard() {
    if (!options_.dashboard) return;
    auto const job = summary();
    dashboard::Job const fixed{.name = job.name,
                               .id = job.id,
                               .backend = job.backend,
                               .command = job.command,
                               .host = job.host,
                               .started = job.started};
    dashboard_.emplace(
        loop_,
        dashboard::Settings{.port = *options_.dashboard,
                            .token_file = env("SINEW_DASHBOARD_TOKEN_FILE").value_or("")},
        JobDashboard::Callbacks{
            .job =
                [this, fixed] {
                    auto now = fixed;
                    now.state = machine_.state();
                    now.restarts = machine_.restarts();
                    now.cause = machine_.causes().summary();
                    return now;
                },
            .taken = [this](int node) { root_->send(node, Kind::report_taken, {}); }});
    output_.report(text("sinew: dashboard: ", dashboard_->address()));
}

// ---- the root of the tree -----------------------------------------------------------------------

void JobRun::open_root() {
    root_ = std::make_unique<Root>(
        loop_, listen_address(root_place()),
        wire::Credentials{.secret = secret_,
                          .self = {.node = 0xffffffff,
                                   .slot = 0,
                                   .epoch = 0,
                                   .name = text("sinew run on ", host_name())}},
        options_.tree_fanout,
        Root::Callbacks{
            .joined = [this](int node) { on_joined(node); },
            .lost =
                [this](int node, auto const& why) {
                    if (dashboard_) dashboard_->agent_lost(node, nodes_.at(node).name, why);
                    perform(machine_.agent_lost(node, why));
                },
            .left = [this] { perform(machine_.agent_left()); },
            .message = [this](int node, Kind kind, auto body) { on_message(node, kind, body); }});
}

RootPlace JobRun::root_place() const {
    bool const here = arranged_.port == 0 && backend_->on_this_host();
    return {.folder = here ? folder_->path() : std::string(),
            .port = arranged_.port,
            .address = options_.root_address};
}

// ---- actions ------------------------------------------------------------------------------------

void JobRun::on_output_settled() {
    if (concluded_) stop_when_written();
    else perform(machine_.output_settled());
}

void JobRun::stop_when_written() {
    if (output_.idle() || output_.unread()) loop_.stop();
}

std::string JobRun::closing_lines() const {
    auto const& causes = machine_.causes();
    std::string lines;
    if (options_.timing) lines += text("sinew: ", timing_.text(), "\n");
    if (options_.verbosity > 0) lines += causes.table();
    if (causes.failed() && options_.verbosity >= 0 && !machine_.reader_gone())
        lines += text(causes.summary().starts_with("sinew run") ? "" : "sinew: ", causes.summary(),
                      "\n");
    if (machine_.exit_code() == 128 + SIGTERM) lines += backend_->why_told_to_end();
    return lines;
}

// The writer's thread is in a write() that may never return: its destructor would wait for it.
void JobRun::leave_output_behind() {
    auto const lines = closing_lines() +
                       "sinew: standard output or standard error is not being read; the rest of "
                       "the ranks' output is lost\n";
    pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    // So much fits into a pipe that is ready, without waiting.
    for (std::string_view left = lines; !left.empty() && ::poll(&ready, 1, 100) == 1;) {
        ssize_t const count =
            ::write(STDERR_FILENO, left.data(), std::min<std::size_t>(left.size(), PIPE_BUF));
        if (count <= 0) break;
        left.remove_prefix(static_cast<std::size_t>(count));
    }
    remove_folders();
    ::_exit(machine_.exit_code());
}

void JobRun::remove_folders() {
    root_.reset();
    folder_.reset();
    control_.reset();
    dashboard_.reset();
    name_.release();
}

// A root that hands over is not the end of the job.
void JobRun::write_summary(int exit_code) const {
    if (options_.summary_file.empty() || machine_.handing_over()) return;
    sinew::launch::write_summary(options_.summary_file, {.exit_code = exit_code,
                                                         .cause = machine_.causes().summary(),
                                                         .restarts = machine_.restarts()});
}

void JobRun::notice(std::string const& line, int verbosity) {
    if (options_.verbosity >= verbosity) output_.report(line);
}

// ---- ranks, and what happens to them ------------------------------------------------------------

void JobRun::look_for_changes() {
    auto const wanted = arranged_.wanted();
    if (!wanted || wanted == std::exchange(wanted_, wanted)) return;
    while (static_cast<int>(nodes_.size()) < *wanted)
        nodes_.push_back(arranged_.node(static_cast<int>(nodes_.size())));
    std::vector<std::string> names;
    for (int node = 0; node < *wanted; ++node) names.push_back(nodes_[node].name);
    perform(machine_.resize(std::move(names)));
}

std::vector<Node> JobRun::members() const {
    std::vector<Node> members;
    for (int const node : machine_.members()) members.push_back(nodes_.at(node));
    return members;
}

void JobRun::launch() {
    auto const nodes = members();
    int const count = static_cast<int>(nodes.size());
    int const first = arranged_.first_nodes > 0 ? arranged_.first_nodes : count;
    auto map = make_map(scaled(options_, first, count), nodes);
    std::vector<int> agents;  // by node of the map, which leaves out nodes without ranks
    for (auto const& node : map.nodes) {
        auto const same = [&](Node const& other) { return other.name == node.name; };
        agents.push_back(
            static_cast<int>(std::find_if(nodes_.begin(), nodes_.end(), same) - nodes_.begin()));
    }
    if (options_.report_map)
        if (auto shown = show_map(map, options_.apps); shown != shown_map_)
            notice(shown_map_ = std::move(shown), -1);
    // Who reads the log of the first pod learns where each rank is, and which agents have joined.
    if (arranged_.port != 0) output_.write_result(RankNodes::line(map) + "\n", [] {});
    names_.clear();
    perform(machine_.launched(std::move(map), std::move(agents)));
    if (dashboard_) {
        std::vector<std::string> hosts;
        for (int const agent : machine_.agents()) hosts.push_back(root_->hello(agent).host);
        dashboard_->launched(machine_.map(), machine_.agents(), hosts);
    }
    auto const message = encode(order());
    root_->restart_fences(machine_.epoch(), machine_.agents());
    root_->send(everyone, Kind::launch, {bytes_of(message)});
    input_.begin(machine_.map(), machine_.agents());
}

Launch JobRun::order() const {
    auto const& agents = machine_.agents();
    auto const& first = root_->hello(agents.front());
    Launch launch{
        .epoch = machine_.epoch(),
        .restart = machine_.restarts(),
        .job = job_,
        .name = name_.name(),
        .data_key = secret_.derive(text("data plane ", machine_.epoch())).hex(),
        .map = machine_.map(),
        .agents = agents,
        .parents = root_->parents(),
        .addresses = {},
        .apps = options_.apps,
        .env = {},
        .folder = backend_->shares_folder(options_.folder) ? options_.folder : std::string(),
        .gpus = options_.gpus,
        .bind_to = options_.bind_to,
        .mpi = options_.mpi,
        .stdin_to = options_.stdin_to,
        .master_address = first.address,
        .master_port = first.free_port,
        .window = std::clamp<std::int64_t>(window_of_all / static_cast<std::int64_t>(nodes_.size()),
                                           64 << 10, 4 << 20),
        .report_bindings = options_.report_bindings && machine_.epoch() == 0,
        .reports = dashboard_.has_value(),
        .progress = machine_.progress()};
    for (int const agent : agents) launch.addresses.push_back(root_->hello(agent).address);
    if (!backend_->on_this_host() && arranged_.port == 0)
        for (auto const& [name, value] : own_variables())
            // With --gpu each node shares out the GPUs that it has.
            if (is_forwarded(name) && (options_.gpus == 0 || name != "CUDA_VISIBLE_DEVICES") &&
                (backend_->has_our_files() || !is_search_path(name)))
                launch.env.emplace(name, value);
    for (auto const& [name, value] : options_.env) launch.env.insert_or_assign(name, value);
    return launch;
}

void JobRun::on_joined(int node) {
    agents_->arrived(node);
    if (dashboard_) dashboard_->agent_joined(nodes_[node].name, root_->hello(node).host);
    nodes_[node].cores = root_->hello(node).cores;
    nodes_[node].place = root_->hello(node).place;
    if (arranged_.port != 0) output_.write_result(joined_record(root_->hello(node)), [] {});
    perform(machine_.agent_joined(node, root_->hello(node).progress));
}

void JobRun::on_message(int node, Kind kind, std::span<std::byte const> body) {
    switch (kind) {
        case Kind::output: {
            auto const head = take_head<OutputHead>(body);
            control_->output({.rank = head.rank,
                              .node = nodes_.at(node).name,
                              .stream = head.stream == 2 ? OutputStream::err : OutputStream::out,
                              .time = std::chrono::system_clock::now(),
                              .bytes = std::string(text_of(body)),
                              .starts_line = head.starts_line != 0});
            if (dashboard_) dashboard_->output(head.rank, head.stream, text_of(body));
            return output_.from_rank(node, nodes_.at(node).name, head, body);
        }
        case Kind::started: {
            auto const report = decode<std::vector<StartedRank>>(text_of(body));
            if (dashboard_) dashboard_->started(report);
            return perform(machine_.ranks_started(node, report));
        }
        case Kind::exited: {
            auto const exited = decode<Exited>(text_of(body));
            if (dashboard_) dashboard_->exited(exited);
            return perform(machine_.rank_exited(node, exited));
        }
        case Kind::report: {
            auto const head = take_head<ReportHead>(body);
            if (dashboard_) dashboard_->report(node, nodes_.at(node).name, head, text_of(body));
            return;
        }
        case Kind::abort:
            return perform(machine_.rank_aborted(decode<Aborted>(text_of(body))));
        case Kind::modex:
        case Kind::modex_reply:
            return on_modex(node, kind, body);
        case Kind::name: {
            auto const reply = encode(names_.answer(decode<NameRequest>(text_of(body))));
            return root_->send(node, Kind::name_reply, {bytes_of(reply)});
        }
        case Kind::notice:
            return notice(std::string(text_of(body)), -1);
        case Kind::input_credit:
            return input_.credit(node, take_head<std::int64_t>(body));
        case Kind::leaving:
            return perform(machine_.agent_leaving(node));
        case Kind::failing:
            return perform(machine_.agent_failing(node, std::string(text_of(body))));
        case Kind::bye:
            return perform(machine_.agent_finished(node));
        default:
            return;  // of a later version
    }
}

void JobRun::on_modex(int node, Kind kind, std::span<std::byte const> body) {
    auto head = take_head<ModexHead>(body);
    if (kind == Kind::modex_reply) return root_->send(head.from, kind, {bytes_of(head), body});
    auto const& map = machine_.map();
    if (head.rank < 0 || head.rank >= map.size()) return;
    head.from = node;
    root_->send(machine_.agents()[map.ranks[head.rank].node], kind, {bytes_of(head), body});
}

// If an agent had joined, its link reports its end, with more. A process that ends well before the
// agent joins has started it elsewhere (rsh -f and the like).
void JobRun::on_agent_process_ended(int node, AgentProcesses::End const& end) {
    if (!end.awaited || (end.code == 0 && end.signal == 0))
        return perform(machine_.agent_process_ended({}));
    auto const how = end.signal != 0 ? text("was killed by signal ", end.signal)
                                     : text("ended with code ", end.code);
    auto const last = end.words.substr(0, end.words.find_last_not_of(". ") + 1);
    auto const stop = last.ends_with('?') || last.ends_with('!') ? " " : ". ";
    perform(machine_.agent_process_ended(text(
        "the agent for ", nodes_.at(node).name, " (", backend_->name(), " to ", nodes_[node].host,
        ") ", how, last.empty() ? "" : ": ", last, stop, backend_->explain(end.code, end.words))));
}

void JobRun::on_signal(int number) {
    // A host that is to be replaced says so by SIGTERM.
    if (number == SIGTERM && arranged_.port != 0 && options_.max_restarts > 0 &&
        !machine_.handing_over() && !machine_.finishing())
        return perform(machine_.hand_over(number));
    if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT)
        return perform(machine_.interrupted(number));
    std::int32_t const forwarded = number;
    root_->send(everyone, Kind::signal, {bytes_of(forwarded)});
    // Once the message has been sent, as the shell expects of a process that it stops.
    if (number == SIGTSTP)
        stop_self_ = loop_.after(std::chrono::milliseconds(50), [] { ::raise(SIGSTOP); });
}

}  // namespace sinew::launch
