// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/node_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <sinew/error.hpp>
#include <sstream>
#include <utility>

#include "launchers/checks/check.hpp"
#include "launchers/common/aside.hpp"
#include "launchers/map/binding.hpp"
#include "launchers/pmi/mpi_environment.hpp"
#include "launchers/pmi/open_mpi_shortcuts.hpp"
#include "launchers/program/mpi_library.hpp"
#include "launchers/program/program_kind.hpp"
#include "src/base/gpus/gpus.hpp"
#include "src/base/text.hpp"
#include "src/world/world_file.hpp"

namespace sinew::launch {
namespace {

// Bytes that libpmix's shared memory may need: some megabytes per job, more for larger jobs.
constexpr std::uintmax_t room_for_pmix = std::uintmax_t(32) << 20;

bool has_little_room(std::string const& folder) {
    std::error_code error;
    auto const room = std::filesystem::space(folder, error);
    return !error && room.available < room_for_pmix;
}

}  // namespace

/// The inspection of the programs, which runs in another thread: its inputs and its results.
struct NodeJob::Search {
    std::map<int, App> apps;
    std::string folder;
    Variables variables;
    MpiSupport mpi = MpiSupport::automatic;
    std::map<int, Program> programs;
    MpiNeeds needs;

    void run();
};

NodeJob::NodeJob(wire::Loop& loop, TreeRouter& tree, JobFolder const& folder, Setting setting,
                 Launch launch)
    : loop_(loop), tree_(tree), folder_(folder), setting_(std::move(setting)),
      launch_(std::move(launch)), gate_(loop) {
    auto const& agents = launch_.agents;
    for (std::size_t i = 0; i < agents.size(); ++i)
        if (agents[i] == setting_.agent) node_ = static_cast<int>(i);
    if (node_ >= 0) mine_ = launch_.map.ranks_of(node_);
}

NodeJob::~NodeJob() {
    gate_.close();
    kill_now();
    mpi_.reset();  // before its folder is removed
    if (!epoch_folder_.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(epoch_folder_, ignored);
    }
}

void NodeJob::start() {
    if (mine_.empty()) return;
    attempt([this] {
        take_gpus();
        epoch_folder_ = folder_.below(text("epoch-", launch_.epoch));
        world_file_ = epoch_folder_ + "/world";
        take_reports();
        auto const many = launch_.map.nodes.size() > 1;
        for (int const rank : mine_)
            listeners_.push_back(
                bind_rank(epoch_folder_, rank, many ? launch_.addresses[node_] : std::string()));
        // Addresses first: the other nodes wait for them, and need not wait for the servers below.
        if (many) exchange_addresses();
        else addresses_.emplace();
        find_programs();
    });
}

void NodeJob::take_gpus() {
    auto const ranks = mine_.size();
    auto const wanted = static_cast<std::size_t>(launch_.gpus) * ranks;
    auto& claims = setting_.gpus;
    if (wanted == claims.gpus().size()) return;  // of the epoch before
    claims.release();
    auto const given = launch_.env.find("CUDA_VISIBLE_DEVICES");
    auto const there = given != launch_.env.end() ? named_gpus(given->second) : visible_gpus();
    auto const wish =
        text("--gpu ", launch_.gpus, ": ", ranks, ranks == 1 ? " rank" : " ranks",
             ranks == 1 ? " here needs " : " here need ", wanted, wanted == 1 ? " GPU" : " GPUs");
    if (there.size() < wanted)
        throw UsageError(text(wish, ", but this node has ", there.size(),
                              ". Ask for fewer, or see CUDA_VISIBLE_DEVICES and the driver "
                              "(nvidia-smi)"));
    if (claims.take(there, wanted, "job " + launch_.name)) return;
    auto const& in_use = claims.in_use();
    throw Unavailable(text(wish, ", but ", in_use.size(), " of ", there.size(),
                           in_use.size() == 1 ? " is" : " are", " in use by ", holders_of(in_use),
                           ". Wait until they are free, or ask for fewer"));
}

void NodeJob::attempt(std::function<void()> const& step) {
    if (stopping_) return;
    try {
        step();
    } catch (std::exception const& problem) {
        auto const faults = local_faults();
        auto const reason =
            faults.empty() ? std::string(problem.what()) : text(faults, " (", problem.what(), ")");
        report_started({{.rank = -1, .pid = 0, .error = EIO, .step = reason}});
    }
}

// Runs in another thread: the file system may be slow, and dynamic loaders are executed.
void NodeJob::find_programs() {
    auto const search = std::make_shared<Search>();
    for (int const rank : mine_) {
        int const index = launch_.map.ranks[rank].app;
        search->apps.try_emplace(index, launch_.apps[index]);
    }
    search->folder = launch_.folder;
    search->variables = own_variables();
    for (auto const& [name, value] : launch_.env) search->variables.insert_or_assign(name, value);
    search->mpi = launch_.mpi;
    run_aside(
        gate_, [search] { search->run(); },
        [this, search](std::exception_ptr const& problem) {
            attempt([&] {
                if (problem) std::rethrow_exception(problem);
                on_programs(*search);
            });
        });
}

void NodeJob::Search::run() {
    bool unknown = false;
    for (auto const& [index, app] : apps) {
        auto kind = inspect(app.argv, app.folder.empty() ? folder : app.folder, variables["PATH"],
                            as_list(variables));
        refuse_without_mpi_library(app.env, kind);
        programs[index] = {
            .path = kind.path, .error = kind.error, .why = kind.why, .variables = {}};
        needs.pmix = needs.pmix || kind.open_mpi;
        needs.pmi1 = needs.pmi1 || kind.mpich || kind.unknown;
        unknown = unknown || kind.unknown;
    }
    if (mpi == MpiSupport::automatic) {
        // An unknown program may not need PMIx, so that it runs without if libpmix is unusable.
        if (unknown && !needs.pmix) PmixServer::describe(needs.pmix);
        return;
    }
    needs = {.pmix = mpi == MpiSupport::pmix, .pmi1 = mpi == MpiSupport::pmi1};
}

// libpmix is started in another thread too, since it examines the whole machine first.
void NodeJob::on_programs(Search& search) {
    programs_ = std::move(search.programs);
    bind_ranks();
    auto const needs = search.needs;
    if (!needs.pmix) return serve_mpi(needs);
    auto const options = MpiService::pmix_options(launch_, node_, folder_.path());
    PmixServer::prepare_environment(options);
    run_aside(
        gate_, [options] { PmixServer::prepare(options); },
        [this, needs](std::exception_ptr const& problem) {
            attempt([&] {
                if (problem) std::rethrow_exception(problem);
                serve_mpi(needs);
            });
        });
}

void NodeJob::start_if_ready() {
    if (stopping_ || !mpi_ || !addresses_) return;
    write_world(*addresses_);
    start_ranks();
}

void NodeJob::bind_ranks() {
    crowded_ = launch_.map.oversubscribed || static_cast<int>(mine_.size()) > usable_cores();
    auto const policy =
        crowded_ && launch_.bind_to == BindTo::automatic ? BindTo::none : launch_.bind_to;
    cpusets_ = bindings(policy, static_cast<int>(mine_.size()));
    if (launch_.report_bindings) {
        auto const machine = processors();
        std::string lines;
        for (std::size_t i = 0; i < mine_.size(); ++i)
            lines +=
                show_binding(mine_[i], launch_.map.nodes[node_].name, cpusets_[i], machine) + "\n";
        tree_.up(Kind::notice, {bytes_of(lines)});
    }
}

void NodeJob::serve_mpi(MpiNeeds needs) {
    mpi_ = std::make_unique<MpiService>(
        loop_, launch_,
        MpiService::Here{.node = node_,
                         .ranks = mine_,
                         .cpusets = cpusets_,
                         .folder = epoch_folder_,
                         .server_folder = folder_.path()},
        needs,
        MpiService::Outward{
            .fence = [this](auto const& key, Bytes bytes) { tree_.fence(key, std::move(bytes)); },
            .modex =
                [this](auto const& head, auto const& bytes) {
                    tree_.up(Kind::modex, {bytes_of(head), bytes});
                },
            .modex_reply =
                [this](auto const& head, auto const& bytes) {
                    tree_.up(Kind::modex_reply, {bytes_of(head), bytes});
                },
            .abort = [this](auto const& what) { tree_.up(Kind::abort, {bytes_of(encode(what))}); },
            .name = [this](auto const& what) { tree_.up(Kind::name, {bytes_of(encode(what))}); }});
    start_if_ready();
}

void NodeJob::exchange_addresses() {
    std::string lines;
    for (std::size_t i = 0; i < mine_.size(); ++i)
        lines += text(mine_[i], " ", listeners_[i].local_address.text(), " ",
                      listeners_[i].remote_address->text(), "\n");
    FenceKey key;
    key.epoch = launch_.epoch;
    key.kind = FenceKey::Kind::addresses;
    auto const bytes = bytes_of(lines);
    tree_.fence(key, Bytes(bytes.begin(), bytes.end()));
}

void NodeJob::fence_done(FenceKey const& key, FenceParts const& parts) {
    if (key.kind == FenceKey::Kind::addresses) {
        addresses_ = parts;
        attempt([this] { start_if_ready(); });
    } else if (mpi_) {
        mpi_->fence_done(key, parts);
    }
}

void NodeJob::fence_failed(FenceKey const& key, std::string const& why) {
    if (key.kind == FenceKey::Kind::addresses)
        report_started({{.rank = -1, .pid = 0, .error = EPIPE, .step = why}});
    else if (mpi_) mpi_->fence_failed(key, why);
}

void NodeJob::take_reports() {
    if (!launch_.reports) return;
    reports_.emplace(loop_, epoch_folder_ + "/reports.sock",
                     [this](ReportHead const& head, std::string_view line) {
                         tree_.up(Kind::report, {bytes_of(head), bytes_of(line)});
                     });
}

void NodeJob::write_world(FenceParts const& parts) {
    auto const& map = launch_.map;
    WorldFile world{.job = launch_.job,
                    .epoch = launch_.epoch,
                    .key = wire::Secret::from_hex(launch_.data_key),
                    .nodes = {},
                    .ranks = {}};
    for (auto const& node : map.nodes) world.nodes.push_back(node.name);
    for (auto const& place : map.ranks)
        world.ranks.push_back(
            {.node = place.node, .local_rank = place.local_rank, .local = {}, .remote = {}});
    for (std::size_t i = 0; i < mine_.size(); ++i)
        world.ranks[mine_[i]].local = listeners_[i].local_address;
    for (auto const& part : parts) {
        std::istringstream lines{std::string(text_of(part.bytes))};
        std::size_t rank = 0;
        std::string local, remote;
        while (lines >> rank >> local >> remote) {
            world.ranks.at(rank).local = wire::Address::parse(local);
            world.ranks.at(rank).remote = wire::Address::parse(remote);
        }
    }
    world.write(world_file_);
}

// Computed once per program, not per rank, since it reads files and looks for devices.
Variables NodeJob::common_variables(App const& app) const {
    Variables environment = own_variables();
    scrub(environment);
    for (auto const& [name, value] : launch_.env) environment.insert_or_assign(name, value);
    for (auto const& [name, value] : app.env) environment.insert_or_assign(name, value);
    MpiSettings const settings{.folder = epoch_folder_,
                               .interface = launch_.map.nodes.size() > 1 ? setting_.interface : "",
                               .oversubscribed = crowded_,
                               .both_pmis = mpi_->serves_both(),
                               .little_room = has_little_room(epoch_folder_)};
    add_defaults(environment, mpi_environment(settings, environment));
    if (!settings.interface.empty())
        add_defaults(environment, {"NCCL_SOCKET_IFNAME=" + settings.interface,
                                   "GLOO_SOCKET_IFNAME=" + settings.interface});
    auto const home = environment.contains("HOME") ? environment.at("HOME") : "";
    add_defaults(environment, open_mpi_shortcuts("", home));
    return environment;
}

Variables NodeJob::environment_for(int rank, std::vector<int>& keep) {
    auto const& place = launch_.map.ranks[rank];
    auto& listeners = listeners_[place.local_rank];
    std::string fds = text(listeners.local.get());
    keep.push_back(listeners.local.get());
    if (listeners.remote) {
        fds += text(",", listeners.remote.get());
        keep.push_back(listeners.remote.get());
    }
    Variables environment = programs_.at(place.app).variables;
    add(environment, rank_variables(launch_, {.rank = rank,
                                              .node = node_,
                                              .job_folder = epoch_folder_,
                                              .world_file = world_file_,
                                              .listen_fds = fds}));
    environment.erase("SINEW_DASHBOARD_SOCKET");  // of a job in which this one was started
    if (reports_) environment.insert_or_assign("SINEW_DASHBOARD_SOCKET", reports_->path());
    add(environment, mpi_->environment(rank, keep));
    if (launch_.gpus > 0) {
        auto const first = setting_.gpus.gpus().begin() +
                           static_cast<std::ptrdiff_t>(place.local_rank) * launch_.gpus;
        add(environment, gpu_variables({first, first + launch_.gpus}));
    }
    return environment;
}

SpawnRequest NodeJob::request_for(int rank) {
    auto const& place = launch_.map.ranks[rank];
    auto const& app = launch_.apps[place.app];
    SpawnRequest request;
    request.path = programs_[place.app].path;
    request.argv = app.argv;
    request.env = as_list(environment_for(rank, request.keep));
    request.folder = app.folder;
    if (request.folder.empty() && std::filesystem::is_directory(launch_.folder))
        request.folder = launch_.folder;  // it may not exist on another host
    if (auto const& cpus = cpusets_[place.local_rank]; !cpus.empty())
        request.cpus = to_cpu_set(cpus);
    return request;
}

void NodeJob::start_ranks() {
    for (auto& [app, program] : programs_) program.variables = common_variables(launch_.apps[app]);
    std::vector<StartedRank> report;
    for (int const rank : mine_)
        if (!start_rank(rank, report)) break;
    report_started(report);
    listeners_.clear();  // the ranks have inherited them
    for (auto const& bytes : std::exchange(early_input_, {})) input(bytes);
}

void NodeJob::report_started(std::vector<StartedRank> const& report) {
    if (std::exchange(reported_, true)) return;
    tree_.up(Kind::started, {bytes_of(encode(report))});
}

bool NodeJob::start_rank(int rank, std::vector<StartedRank>& report) {
    auto const& place = launch_.map.ranks[rank];
    auto const& program = programs_[place.app];
    if (program.error != 0) {
        report.push_back({.rank = rank, .pid = 0, .error = program.error, .step = program.why});
        return false;
    }
    LocalRank::Callbacks callbacks;
    callbacks.output = [this, rank](int stream, auto piece) { on_output(rank, stream, piece); };
    callbacks.ended = [this, rank](auto const& end) { on_ended(rank, end); };
    callbacks.consumed = [this, rank](std::size_t bytes) { on_consumed(rank, bytes); };
    auto local = std::make_unique<LocalRank>(loop_, rank, std::move(callbacks));
    bool const reads = launch_.stdin_to == "all" || launch_.stdin_to == std::to_string(rank);
    Spawned failure;
    bool const started = local->start(request_for(rank), reads, failure);
    mpi_->started(rank);
    if (!started) {
        report.push_back(
            {.rank = rank, .pid = 0, .error = failure.error, .step = std::move(failure.step)});
        return false;
    }
    report.push_back({.rank = rank, .pid = local->pid(), .error = 0, .step = {}});
    ranks_.push_back(std::move(local));
    return true;
}

// ---- running ranks ------------------------------------------------------------------------------

void NodeJob::on_output(int rank, int stream, LineAssembler::Piece piece) {
    OutputHead const head{.rank = rank,
                          .stream = static_cast<std::uint8_t>(stream),
                          .starts_line = piece.starts_line,
                          .ends_line = piece.ends_line,
                          .unused = 0};
    tree_.up(Kind::output, {bytes_of(head), bytes_of(piece.bytes)});
    under_way_ += static_cast<std::int64_t>(piece.bytes.size());
    set_reading();
}

void NodeJob::credit(std::int64_t bytes) {
    under_way_ -= bytes;
    set_reading();
}

void NodeJob::set_reading() {
    bool const wanted = under_way_ < launch_.window;
    if (wanted == reading_) return;
    reading_ = wanted;
    for (auto const& rank : ranks_) rank->reading(wanted);
}

void NodeJob::on_ended(int rank, LocalRank::End const& end) {
    Exited exited;
    exited.rank = rank;
    exited.pid = (*std::find_if(ranks_.begin(), ranks_.end(), [rank](auto const& each) {
                     return each->rank() == rank;
                 }))->pid();
    exited.code = end.code;
    exited.signal = end.signal;
    exited.stopped = stopping_;
    exited.joined = mpi_->joined(rank);
    exited.left = mpi_->left(rank);
    exited.in_world = ::access(presence_file(epoch_folder_, rank).c_str(), F_OK) == 0;
    exited.oom = exited.signal == SIGKILL && !stopping_ && oom_kills() > oom_kills_;
    exited.cause = guard(exited);
    bool const failed_here = (exited.code != 0 || exited.signal != 0) && !exited.stopped;
    if (failed_here && mpi_->serves()) exited.cause = local_faults();
    tree_.up(Kind::exited, {bytes_of(encode(exited))});
}

// Detects a rank that succeeded without joining the others: as an MPI world of size one it would
// have repeated the whole computation unnoticed. Returns the text to report, or nothing.
std::string NodeJob::guard(Exited const& exited) const {
    if (exited.code != 0 || exited.signal != 0 || exited.stopped || !mpi_->serves()) return {};
    if (!exited.joined && mpi_->anyone_joined())
        return "it never joined the others in MPI_Init, and may have run alone";
    return {};
}

void NodeJob::on_consumed(int rank, std::size_t bytes) {
    // With several readers the slowest one limits the credit.
    input_taken_[rank] += static_cast<std::int64_t>(bytes);
    std::int64_t slowest = input_taken_[rank];
    for (auto const& local : ranks_)
        if (local->running() && input_taken_.contains(local->rank()))
            slowest = std::min(slowest, input_taken_[local->rank()]);
    if (slowest <= input_credited_) return;
    std::int64_t const fresh = slowest - input_credited_;
    input_credited_ = slowest;
    tree_.up(Kind::input_credit, {bytes_of(fresh)});
}

void NodeJob::input(std::string_view bytes) {
    if (!reported_) {
        early_input_.emplace_back(bytes);
        return;
    }
    bool anybody = false;
    for (auto const& local : ranks_)
        if (launch_.stdin_to == "all" || launch_.stdin_to == std::to_string(local->rank())) {
            input_taken_.try_emplace(local->rank(), input_credited_);
            anybody = true;
            local->input(std::string(bytes));
        }
    auto const size = static_cast<std::int64_t>(bytes.size());
    if (!anybody && size > 0) tree_.up(Kind::input_credit, {bytes_of(size)});
}

void NodeJob::signal(int number) {
    for (auto const& rank : ranks_) rank->signal(number);
}

void NodeJob::stop(Stop const& how) {
    stopping_ = true;
    report_started({});  // reports that no ranks start, unless their start is reported already
    if (how.signal != 0) {
        signal(SIGCONT);  // a stopped process handles only SIGKILL
        signal(how.signal);
    }
    auto const grace = std::chrono::milliseconds(how.grace_ms);
    if (grace.count() <= 0) return kill_now();
    // SIGHUP is often caught for other purposes (by UCX to wait for a debugger), and its sender may
    // be gone and cannot repeat it: SIGTERM follows.
    if (how.signal == SIGHUP) term_timer_ = loop_.after(grace / 2, [this] { signal(SIGTERM); });
    kill_timer_ = loop_.after(grace, [this] { kill_now(); });
}

void NodeJob::kill_now() {
    stopping_ = true;
    for (auto const& rank : ranks_) rank->signal(SIGKILL);
}

std::vector<pid_t> NodeJob::pids() const {
    std::vector<pid_t> found;
    for (auto const& rank : ranks_) found.push_back(rank->pid());
    return found;
}

bool NodeJob::has_output() const {
    return under_way_ > 0 || std::any_of(ranks_.begin(), ranks_.end(),
                                         [](auto const& rank) { return rank->has_output(); });
}

void NodeJob::wind_up() {
    for (auto const& rank : ranks_) rank->wind_up();
}

}  // namespace sinew::launch
