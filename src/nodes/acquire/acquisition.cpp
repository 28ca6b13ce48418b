// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/acquire/acquisition.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sinew/detail/task.hpp>
#include <sinew/error.hpp>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/base/bytes.hpp"
#include "src/base/env.hpp"
#include "src/base/gpus/gpus.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/nodes/acquire/find_command.hpp"
#include "src/nodes/meeting.hpp"
#include "src/process/child/child_role.hpp"

namespace sinew::nodes {
namespace {

constexpr int most_nodes = 1 << 16;
constexpr int most_priority = 1000;

bool is_address(std::string const& word) { return !wire::interface_of(word).name.empty(); }

// What `sinew run` looks at, too: see launchers/command_line/hosts/allocation.hpp.
bool in_allocation() {
    if (env("SINEW_RANK")) return false;
    for (auto const* name :
         {"SLURM_JOB_NODELIST", "PBS_NODEFILE", "LSB_MCPU_HOSTS", "LSB_HOSTS", "PE_HOSTFILE"})
        if (env(name)) return true;
    return false;
}

std::string chosen_backend(NodesOptions const& options) {
    if (options.backend != "auto") return options.backend;
    if (auto const named = env("SINEW_BACKEND")) return *named;
    if (env("KUBERNETES_SERVICE_HOST")) return "kubernetes";
    if (auto const named = env("FIBER_BACKEND")) return *named;
    if (!options.hosts.empty()) return "ssh";
    if (!in_allocation()) return "local";
    bool const by_srun = env("SLURM_JOB_NODELIST") && options.launch_agent.empty();
    return by_srun && !find_in_path("srun").empty() ? "slurm" : "ssh";
}

NodeShare share_of(JoinMessage const& join, Meta const& meta) {
    NodeShare share;
    CPU_ZERO(&share.cpus);
    share.host = join.host;
    share.cores = meta.cpu > 0 ? meta.cpu : join.cores;
    share.gpus = meta.gpu > 0 ? std::min(meta.gpu, join.gpus) : join.gpus;
    share.memory_mib = join.memory_mib;
    if (meta.memory_mib > 0)
        share.memory_mib = join.memory_mib > 0
                               ? std::min<std::uint64_t>(meta.memory_mib, join.memory_mib)
                               : meta.memory_mib;
    return share;
}

void check_count(int count, int least) {
    if (count < least || count > most_nodes)
        throw UsageError(text(count, " nodes (must be from ", least, " to ", most_nodes, ")"));
}

}  // namespace

void check(NodesOptions const& options) {
    if (!process::was_init_called())
        throw UsageError(
            "nodes cannot be acquired (sinew::init(argc, argv) was not called: their agents are "
            "this program, and would run all of main). Make it the first statement of main");
    check_count(options.count, 0);
    if (options.minimum < 0 || options.minimum > options.count)
        throw UsageError(text("minimum = ", options.minimum, " of ", options.count,
                              " nodes (must be from 0 to ", options.count, ")"));
    if (options.start_timeout <= std::chrono::nanoseconds::zero())
        throw UsageError("start_timeout of nodes must be above 0");
    if (options.meta.cpu < 0 || options.meta.gpu < 0)
        throw UsageError(text("nodes with ", options.meta.cpu, " cores and ", options.meta.gpu,
                              " GPUs (must be at least 0)"));
    bool const of_service = options.backend == "service";
    if (!of_service && (options.time_limit != options.time_limit.zero() || options.priority != 0))
        throw UsageError(text("time_limit and priority of nodes are for backend service (not for ",
                              options.backend, ")"));
    if (options.time_limit < options.time_limit.zero())
        throw UsageError("time_limit of nodes must be at least 0");
    if (std::abs(options.priority) > most_priority)
        throw UsageError(text("priority ", options.priority, " of nodes (must be from ",
                              -most_priority, " to ", most_priority, ")"));
    if (!options.address.empty() && !is_address(options.address))
        throw UsageError(text("the address \"", options.address,
                              "\" for nodes is not an IP address of this host"));
    for (auto const& each : options.env)
        if (each.find('=') == std::string::npos || each.front() == '=')
            throw UsageError(text("the variable \"", each, "\" for nodes has no NAME="));
    auto const is_name = [](char each) {
        return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') || each == '-';
    };
    if (options.name.size() > 40 || !std::all_of(options.name.begin(), options.name.end(), is_name))
        throw UsageError(text("the name \"", options.name,
                              "\" of nodes (must have a-z, 0-9 and -, at most 40)"));
}

Acquisition::Acquisition(process::Runtime& runtime, NodesOptions options,
                         std::shared_ptr<Roster> roster)
    : runtime_(runtime), options_(std::move(options)), backend_(chosen_backend(options_)),
      roster_(std::move(roster)) {
    if (options_.name.empty()) options_.name = "nodes";
    if (backend_ != "docker") return;
    for (auto const* name : {"SINEW_IMAGE", "FIBER_IMAGE"})
        if (options_.image.empty()) options_.image = env(name).value_or("");
}

Acquisition::~Acquisition() = default;

void Acquisition::begin() {
    AgentConfig const config{.session = runtime_.secret().hex(),
                             .addresses = listen(backend_ == "local"),
                             .master = runtime_.name(),
                             .env = options_.env,
                             .meta = options_.meta,
                             .gpus = shared_gpus()};
    std::error_code none;
    auto const program = std::filesystem::read_symlink("/proc/self/exe", none).string();
    process_ = std::make_shared<BackendProcess>(
        runtime_.loop(), BackendProcess::Callbacks{
                             .event = [this](BackendEvent const& event) { on_event(event); },
                             .ended = [this](std::string const& how) { on_backend_end(how); }});
    process_->start();
    process_->tell(request_line(options_, backend_, program, config_line(config)));
    expect_nodes();
}

// Returns the GPUs that nodes on this host divide among them. Throws UsageError if there are too few.
std::vector<std::string> Acquisition::shared_gpus() const {
    auto const wanted = options_.meta.gpu;
    if (backend_ != "local" || wanted == 0) return {};
    auto found = visible_gpus();
    if (static_cast<std::uint64_t>(wanted) * static_cast<std::uint64_t>(options_.count) >
        found.size())
        throw UsageError(text(options_.count, " nodes with ", wanted,
                              " GPUs each are wanted of backend local, but this host provides ",
                              found.size(), ". Ask for less, or name another backend"));
    return found;
}

// Nodes of this host use a Unix socket. Returns the addresses to dial.
std::vector<std::string> Acquisition::listen(bool here) {
    auto address = wire::Address::unix_socket(
        text(runtime_.folder(), "/nodes-", wire::Secret::random().hex().substr(0, 8)));
    auto const& given = options_.address;
    auto const hosts = here            ? std::vector<std::string>{}
                       : given.empty() ? outer_addresses()
                                       : std::vector<std::string>{given};
    if (!here) {
        bool const v6 = hosts.front().find(':') != std::string::npos;
        address = wire::Address::tcp(!given.empty() ? given : v6 ? "::" : "0.0.0.0", 0);
    }
    wire::Credentials const self{runtime_.secret(), {.name = runtime_.name()}};
    listener_ = std::make_unique<wire::Listener>(runtime_.loop(), address, self,
                                                 wire::Listener::Options{.link = link_options()},
                                                 [this](auto link) { accept(std::move(link)); });
    auto const bound = listener_->address();
    if (here) return {bound.text()};
    std::vector<std::string> words;
    for (auto const& host : hosts) words.push_back(wire::Address::tcp(host, bound.port).text());
    return words;
}

void Acquisition::accept(std::unique_ptr<wire::Link> link) {
    auto* const key = link.get();
    link->on({.message = [this, key](wire::Message const& message) { heard(key, message); },
              .end = [this, key](wire::LinkEnd const&) { unnamed_.erase(key); }});
    unnamed_.emplace(key, std::move(link));
}

void Acquisition::heard(wire::Link* key, wire::Message const& message) {
    auto const self = shared_from_this();
    JoinMessage join;
    bool understood = message.kind == joined;
    try {
        if (understood) join = decode_join(message.payload);
    } catch (DecodeError const&) {
        understood = false;
    }
    auto link = std::move(unnamed_.extract(key).mapped());
    if (!understood) return;
    auto const why = objection(join);
    if (why.empty()) return add(std::move(link), join);
    log_warning(text("node ", join.id, " on ", join.host, " is refused: ", why));
    reasons_[join.id] = why;
    say_waiting();
    link->send(refused, 0, {bytes_of(why)});
    close_in_order(std::move(link));
}

// Why the node is refused; empty: it is not.
std::string Acquisition::objection(JoinMessage const& join) const {
    auto const& ours = detail::program_identity().text;
    if (join.program != ours)
        return text("it runs another program, or another build of it (", join.program,
                    "; this process: ", ours, "). Install the same file there");
    auto const same = [&](auto const& member) { return member->id() == join.id; };
    if (std::any_of(roster_->present.begin(), roster_->present.end(), same))
        return "a node of this name is there already";
    return {};
}

void Acquisition::add(std::unique_ptr<wire::Link> link, JoinMessage const& join) {
    auto const address = link->local_host();
    auto const agent =
        std::make_shared<RemoteNode>(runtime_.loop(), std::move(link), join.host, join.id);
    auto const member = std::make_shared<Member>(share_of(join, options_.meta), agent, join.id);
    agent->on_change([this, member = std::weak_ptr(member)] {
        if (auto const changed = member.lock()) on_node(changed);
    });
    agent->begin();
    agent->greet();
    if (!address.empty()) be_reachable(runtime_, address);
    process_->tell(joined_line(join.id));
    reasons_.erase(join.id);
    none_ = {};
    over_ = roster_->failure = {};
    roster_->present.push_back(member);
    ++roster_->changes;
    say_waiting();
    roster_->tell();
}

void Acquisition::on_node(std::shared_ptr<Member> const& member) {
    auto const self = shared_from_this();
    auto& present = roster_->present;
    bool changed = std::erase(present, member) > 0;
    if (changed) {
        roster_->ending.push_back(member);
        ++roster_->changes;
        if (present.empty()) expect_nodes();
    }
    if (!member->agent()->leaving()) process_->tell(lost_line(member->id()));
    if (member->agent()->empty()) changed = std::erase(roster_->ending, member) > 0 || changed;
    if (present.empty() && !over_.empty()) roster_->failure = over_;
    if (changed) roster_->tell();
}

void Acquisition::on_event(BackendEvent const& event) {
    auto const self = shared_from_this();
    if (event.kind == BackendEvent::Kind::state) return on_state(event);
    if (event.kind == BackendEvent::Kind::failed) fail(event.text);
}

void Acquisition::on_state(BackendEvent const& event) {
    using State = BackendEvent::State;
    if (event.state == State::running || event.state == State::gone) reasons_.erase(event.node);
    else reasons_[event.node] = event.text;
    say_waiting();
    if (event.state != State::gone) return;
    for (auto const& list : {roster_->present, roster_->ending})
        for (auto const& member : list)
            if (member->id() == event.node)
                member->agent()->confirm_end(event.text.empty() ? "it has ended" : event.text);
}

void Acquisition::on_backend_end(std::string const& how) {
    auto const self = shared_from_this();
    if (over_.empty()) log_warning(text(how, ": no node is replaced any more"));
    fail(text(how, ", so that no node is started"));
}

// Texts that differ, the first few of them.
void Acquisition::say_waiting() {
    std::vector<std::string> said;
    for (auto const& [node, why] : reasons_)
        if (!why.empty() && std::find(said.begin(), said.end(), why) == said.end() &&
            said.size() < 3)
            said.push_back(why);
    roster_->waiting_for = {};
    for (auto const& why : said)
        roster_->waiting_for += text(roster_->waiting_for.empty() ? "" : "; ", why);
}

void Acquisition::fail(std::string const& why) {
    if (over_.empty()) over_ = why;
    if (roster_->present.empty()) roster_->failure = over_;
    roster_->tell();
}

void Acquisition::expect_nodes() {
    auto const limit = std::chrono::duration_cast<wire::Clock::duration>(options_.start_timeout);
    none_ = runtime_.loop().after(limit, [this] {
        auto const self = shared_from_this();
        if (options_.count == 0) return;
        auto const& said = roster_->waiting_for;
        roster_->failure = text(
            "no node came within ", std::chrono::duration<double>(options_.start_timeout).count(),
            " s (", said.empty() ? "backend " + backend_ + " does not say why" : said,
            "). See NodesOptions::start_timeout");
        roster_->tell();
    });
}

void Acquisition::resize(int count) {
    check_count(count, 0);
    auto const before = std::exchange(options_.count, count);
    try {
        static_cast<void>(shared_gpus());
    } catch (...) {
        options_.count = before;
        throw;
    }
    process_->tell(count_line(count));
    if (roster_->present.empty()) expect_nodes();
}

void Acquisition::end() {
    auto const self = shared_from_this();
    none_ = {};
    listener_ = {};
    unnamed_.clear();
    for (auto const& list : {roster_->present, roster_->ending})
        for (auto const& member : list) {
            member->agent()->on_change({});
            member->agent()->over();
        }
    if (process_) process_->close();
}

}  // namespace sinew::nodes
