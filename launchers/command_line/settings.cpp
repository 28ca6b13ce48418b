// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/settings.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>

#include <sinew/error.hpp>

#include "launchers/command_line/docker_settings.hpp"
#include "launchers/command_line/flags.hpp"
#include "launchers/command_line/kubernetes_settings.hpp"
#include "launchers/command_line/service_settings.hpp"
#include "launchers/command_line/slurm_settings.hpp"
#include "launchers/command_line/values.hpp"
#include "launchers/common/job_name.hpp"
#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr int most_ranks = 1'000'000;
constexpr int most_nodes = 100'000;

/// Notes that a flag of another launcher has a different meaning here. Each such flag is in the
/// table of docs/launching.md.
void note_difference(Draft& draft, Setting const& setting, std::string const& here,
                     std::string const& there) {
    draft.options.notes.push_back(
        text(setting.origin, ": ", here, " (Open MPI's mpirun: ", there, ")"));
}

void set_map_by(Draft& draft, Setting const& setting) {
    // --bind-to places a rank within its node; core and socket fill node after node like slot.
    std::size_t const how =
        to_choice(setting, {"slot", "node", "core", "socket", "package", "ppr:K:node"});
    draft.options.map_by = how == 1 ? MapBy::node : MapBy::slot;
    if (how >= 2 && how <= 4)
        note_difference(draft, setting,
                        "ranks fill node after node, as by slot; --bind-to gives each its place "
                        "on the node",
                        "deals them out to the cores or sockets of a node in turn");
}

void set_output_filename(Draft& draft, Setting const& setting) {
    if (setting.value.empty()) bad_value(setting, "the path of a folder");
    draft.options.output_folder = setting.value;
    if (setting.origin.find("output-filename") != std::string::npos)  // not the dir=DIR of --output
        note_difference(draft, setting, "the files are DIR/rank.N.stdout and DIR/rank.N.stderr",
                        "DIR/1/rank.N/stdout");
}

void set_launch_agent(Draft& draft, Setting const& setting) {
    if (setting.value.empty()) bad_value(setting, "a command");
    draft.options.launch_agent = setting.value;
    // A single word is what a user of mpirun would write.
    if (setting.value.find_first_of(" {") == std::string::npos)
        note_difference(draft, setting,
                        "this command of this host gets the words that start the agent there; "
                        "'ssh {host}' is the usual way",
                        "the name of its daemon on the other hosts");
}

void set_fake_nodes(Draft& draft, Setting const& setting) {
    RunOptions& options = draft.options;
    options.fake_slots.clear();
    if (setting.value.find(',') == std::string::npos) {
        options.fake_nodes = to_count(setting, 1, most_nodes);
        return;
    }
    for (std::string const& part : split(setting.value, ',')) {
        auto const slots = parse_int(part, 1, most_ranks);
        if (!slots) bad_value(setting, "a number of nodes, or their slots such as 3,1,2");
        options.fake_slots.push_back(*slots);
    }
    options.fake_nodes = static_cast<int>(options.fake_slots.size());
}

void set_stdin(Draft& draft, Setting const& setting) {
    std::string const value = lower(setting.value);
    auto const rank = parse_int(value, 0, most_ranks - 1);
    if (!rank && value != "all" && value != "none") bad_value(setting, "a rank, all or none");
    draft.options.stdin_to = rank ? std::to_string(*rank) : value;
}

void set_bind_to(Draft& draft, Setting const& setting) {
    constexpr std::array which{BindTo::core, BindTo::socket, BindTo::socket, BindTo::none,
                               BindTo::automatic};
    draft.options.bind_to =
        which[to_choice(setting, {"core", "socket", "package", "none", "auto"})];
}

void set_rank_order(Draft& draft, Setting const& setting) {
    draft.options.rank_order =
        static_cast<RankOrder>(to_choice(setting, {"topology", "index", "hostfile"}));
}

/// Each -v adds one level. The last of -q and -v wins.
void set_verbose(Draft& draft, Setting const& setting) {
    int& level = draft.options.verbosity;
    if (setting.value == "quiet") level = -1;
    else if (setting.value == "2") level = 2;
    else level = to_flag(setting) ? std::min(std::max(level, 0) + 1, 2) : 0;
}

void set_timeout(Draft& draft, Setting const& setting) {
    auto const time = to_time(setting, true);
    draft.options.timeout = time.count() == 0 ? std::nullopt : std::optional(time);
}

void set_dry_run(Draft& draft, Setting const& setting) {
    draft.options.kubernetes.yaml = lower(setting.value) == "yaml";
    draft.options.dry_run = draft.options.kubernetes.yaml || to_flag(setting);
}

void set_accelerate(Draft& draft, Setting const& setting) {
    std::string const value = lower(setting.value);
    bool const names_mpi = value == "openmpi" || value == "mpich";
    draft.options.accelerate = names_mpi ? value : to_flag(setting) ? "auto" : "";
}

void set_name(Draft& draft, Setting const& setting) {
    if (!is_job_name(setting.value))
        bad_value(
            setting,
            "1 to 63 lower-case letters, digits and '-', which neither begin nor end with '-'");
    draft.options.name = setting.value;
}

void set_log_buffer(Draft& draft, Setting const& setting) {
    constexpr std::size_t most = std::size_t{1} << 30;
    try {
        draft.options.log_buffer =
            setting.value == "0" ? 0 : parse_bytes(setting.value, setting.origin);
    } catch (UsageError const&) {
        bad_value(setting, "a size such as 0, 64K or 16M, up to 1G");
    }
    if (draft.options.log_buffer > most)
        bad_value(setting, "a size such as 0, 64K or 16M, up to 1G");
}

void set_dashboard(Draft& draft, Setting const& setting) {
    constexpr int most_port = 65535;
    if (auto const port = parse_int(setting.value, 2, most_port)) {
        draft.options.dashboard = static_cast<std::uint16_t>(*port);
        return;
    }
    std::string const value = lower(setting.value);
    if (value.find_first_not_of("0123456789") == std::string::npos && value != "0" && value != "1")
        bad_value(setting, "a port from 2 to 65535");
    draft.options.dashboard.reset();
    if (to_flag(setting)) draft.options.dashboard = 0;
}

using Field = bool RunOptions::*;

Setter flag(Field field) {
    return [=](Draft& draft, Setting const& s) { draft.options.*field = to_flag(s); };
}

Setter number(int RunOptions::*field, int least, int most) {
    return [=](Draft& draft, Setting const& s) { draft.options.*field = to_count(s, least, most); };
}

Setter words(std::string RunOptions::*field) {
    return [=](Draft& draft, Setting const& s) { draft.options.*field = to_words(s); };
}

// clang-format off
std::map<std::string_view, Setter> const setters{
    {"np", [](Draft& d, Setting const& s) { d.ranks = to_count(s, 1, most_ranks); }},
    {"npernode", number(&RunOptions::per_node, 1, most_ranks)},
    {"nnodes", number(&RunOptions::nodes, 1, most_nodes)},
    {"name", set_name},
    {"gpu", number(&RunOptions::gpus, 0, 1024)},
    {"x", set_variable},
    {"env", set_pair("")},
    {"genv", set_pair("")},
    {"genvlist", set_variable_list},
    {"env-file", read_env_file},
    {"mca", set_mca},
    {"pmixmca", set_pair("PMIX_MCA_")},
    {"wdir", [](Draft& d, Setting const& s) { d.wdir = to_words(s); }},
    {"mpi", [](Draft& d, Setting const& s) {
        d.options.mpi = static_cast<MpiSupport>(to_choice(s, {"auto", "pmix", "pmi1", "none"})); }},
    {"accelerate", set_accelerate},
    {"dry-run", set_dry_run},
    {"timing", flag(&RunOptions::timing)},
    {"verbose", set_verbose},
    {"allow-run-as-root", [](Draft&, Setting const& s) { to_flag(s); }},
    {"hostfile", [](Draft& d, Setting const& s) { to_words(s); d.hostfiles.push_back(s); }},
    {"host", [](Draft& d, Setting const& s) { to_words(s); d.host_lists.push_back(s); }},
    {"backend", words(&RunOptions::backend)},
    {"launch-agent", set_launch_agent},
    {"fake-nodes", set_fake_nodes},
    {"tree-fanout", number(&RunOptions::tree_fanout, 2, 1024)},
    {"root-address", words(&RunOptions::root_address)},
    {"map-by", set_map_by},
    {"rank-order", set_rank_order},
    {"oversubscribe", [](Draft& d, Setting const& s) { d.options.oversubscribe = to_flag(s); }},
    {"bind-to", set_bind_to},
    {"report-map", flag(&RunOptions::report_map)},
    {"report-bindings", flag(&RunOptions::report_bindings)},
    {"tag-output", flag(&RunOptions::tag_output)},
    {"timestamp-output", flag(&RunOptions::timestamp_output)},
    {"output-filename", set_output_filename},
    {"output", [](Draft& d, Setting const& s) {
        d.options.output = static_cast<OutputFormat>(to_choice(s, {"plain", "json"})); }},
    {"log-buffer", set_log_buffer},
    {"dashboard", set_dashboard},
    {"detach", [](Draft& d, Setting const& s) {
        d.options.detach = to_flag(s);
        if (d.options.detach_flag.empty()) d.options.detach_flag = s.origin; }},
    {"stdin", set_stdin},
    {"timeout", set_timeout},
    {"start-timeout", [](Draft& d, Setting const& s) { d.options.start_timeout = to_time(s, false); }},
    {"grace", [](Draft& d, Setting const& s) { d.options.grace = to_time(s, true); }},
    {"max-restarts", number(&RunOptions::max_restarts, 0, 1000)},
    {"no-kill", [](Draft& d, Setting const& s) { d.options.kill_on_failure = !to_flag(s); }},
    {"help", [](Draft& d, Setting const& s) { d.options.help = s.value; }},
    {"version", flag(&RunOptions::version)},
};
// clang-format on

}  // namespace

void apply(Draft& draft, Setting const& setting) {
    if (auto const set = kubernetes_setter(setting.key)) return set(draft, setting);
    if (auto const set = docker_setter(setting.key)) return set(draft, setting);
    if (auto const set = slurm_setter(setting.key)) return set(draft, setting);
    if (auto const set = service_setter(setting.key)) return set(draft, setting);
    auto const at = setters.find(setting.key);
    if (at == setters.end())
        throw UsageError(text(setting.origin, " (nothing sets ", setting.key, ")"));
    at->second(draft, setting);
}

}  // namespace sinew::launch
