// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/objects/root_arguments.hpp"

#include <algorithm>
#include <chrono>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::launch::kubernetes {
namespace {

using Words = std::vector<std::string>;

std::string milliseconds(std::chrono::nanoseconds time) {
    return text(std::chrono::ceil<std::chrono::milliseconds>(time).count(), "ms");
}

void add(Words& words, std::initializer_list<std::string> more) { words.insert(words.end(), more); }

void add_mapping(Words& words, RunOptions const& options) {
    static constexpr char const* orders[] = {"topology", "index", "hostfile"};
    static constexpr char const* bindings[] = {"auto", "core", "socket", "none"};
    static constexpr char const* mpis[] = {"auto", "pmix", "pmi1", "none"};
    if (options.per_node > 0) add(words, {"-N", std::to_string(options.per_node)});
    if (options.map_by == MapBy::node) add(words, {"--map-by", "node"});
    add(words, {"--rank-order", orders[static_cast<int>(options.rank_order)]});
    if (options.oversubscribe)
        add(words, {*options.oversubscribe ? "--oversubscribe" : "--nooversubscribe"});
    add(words, {"--bind-to", bindings[static_cast<int>(options.bind_to)], "--mpi",
                mpis[static_cast<int>(options.mpi)], "--tree-fanout",
                std::to_string(options.tree_fanout)});
}

void add_failures(Words& words, RunOptions const& options) {
    if (options.timeout) add(words, {"--timeout", milliseconds(*options.timeout)});
    if (options.start_timeout)
        add(words, {"--start-timeout", milliseconds(*options.start_timeout)});
    add(words, {"--grace", milliseconds(options.grace), "--max-restarts",
                std::to_string(options.max_restarts)});
    if (!options.kill_on_failure) add(words, {"--no-kill"});
}

void add_program(Words& words, App const& app) {
    if (app.ranks > 0) add(words, {"-n", std::to_string(app.ranks)});
    if (!app.folder.empty()) add(words, {"--wdir", app.folder});
    for (auto const& [name, value] : app.env) add(words, {"-x", text(name, "=", value)});
    words.push_back("--");
    words.insert(words.end(), app.argv.begin(), app.argv.end());
}

}  // namespace

JobShape job_shape(RunOptions const& options) {
    int ranks = 0;
    for (auto const& app : options.apps) ranks += app.ranks;
    JobShape shape{.nodes = options.nodes, .ranks_per_node = std::max(options.per_node, 1)};
    if (shape.nodes == 0)
        shape.nodes = std::max(1, (ranks + shape.ranks_per_node - 1) / shape.ranks_per_node);
    if (options.per_node == 0)
        shape.ranks_per_node = std::max(1, (ranks + shape.nodes - 1) / shape.nodes);
    if (ranks > shape.nodes * shape.ranks_per_node)
        throw UsageError(text(ranks, " ranks do not fit (-N ", options.per_node,
                              " leaves room for ", shape.nodes * shape.ranks_per_node, " on ",
                              shape.nodes, " pods). Raise -N or --nnodes, or lower -n"));
    return shape;
}

Words root_arguments(RunOptions const& options, JobShape shape) {
    Words words{"--nnodes", std::to_string(shape.nodes), "--output", "json", "--stdin", "none"};
    if (!options.name.empty()) add(words, {"--name", options.name});
    add_mapping(words, options);
    add_failures(words, options);
    if (options.report_map) words.push_back("--report-map");
    if (options.report_bindings) words.push_back("--report-bindings");
    if (options.timing) words.push_back("--timing");
    if (options.verbosity < 0) words.push_back("-q");
    for (int level = 0; level < options.verbosity; ++level) words.push_back("--verbose");
    for (auto const& [name, value] : options.env) add(words, {"-genv", name, value});
    bool first = true;
    for (auto app : options.apps) {
        if (!first) words.push_back(":");
        first = false;
        if (options.apps.size() == 1 && app.ranks == 0)
            app.ranks = shape.nodes * shape.ranks_per_node;
        add_program(words, app);
    }
    return words;
}

}  // namespace sinew::launch::kubernetes
