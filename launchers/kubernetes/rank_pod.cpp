// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/rank_pod.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <sinew/error.hpp>
#include <vector>

#include "launchers/io/output_record.hpp"
#include "launchers/io/rank_nodes.hpp"
#include "launchers/kubernetes/objects/pod_template.hpp"
#include "launchers/kubernetes/pod_table.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::kubernetes {
namespace {

PodTable table_of(k8s::Client& client, std::string const& job, std::string const& ns, int wanted) {
    auto const answer = client.call(k8s::list(
        k8s::pods, {.ns = ns, .label_selector = label_selector(job), .field_selector = {}}));
    std::vector<k8s::PodView> pods;
    for (auto const& item : answer.value("items", nlohmann::json::array())) pods.emplace_back(item);
    std::sort(pods.begin(), pods.end(),
              [](auto const& a, auto const& b) { return a.created < b.created; });
    PodTable table(job, wanted);
    for (auto const& pod : pods) table.update(pod);
    return table;
}

// What the log of the root says last.
struct Told {
    std::optional<RankNodes> nodes;
    std::string node;  ///< of the rank's last output
};

Told last_told(std::string_view log, int rank) {
    Told told;
    while (!log.empty()) {
        auto const end = log.find('\n');
        auto const line = log.substr(0, end);
        log.remove_prefix(end == log.npos ? log.size() : end + 1);
        if (auto nodes = RankNodes::parse(line)) {
            told.nodes = std::move(nodes);
        } else if (OutputRecord record; !told.nodes && parse_output_line(line, record)) {
            if (record.rank == rank) told.node = record.node;
        }
    }
    return told;
}

// "train-3" is the node with index 3.
int index_of(std::string const& node) {
    auto const number = node.substr(node.rfind('-') + 1);
    int index = -1;
    auto const* const end = number.data() + number.size();
    auto const parsed = std::from_chars(number.data(), end, index);
    return parsed.ptr == end && parsed.ec == std::errc() ? index : -1;
}

void check_range(int rank, int ranks, std::string const& job) {
    if (rank >= ranks)
        throw UsageError(
            text("rank ", rank, " of job ", job, " is out of range (0 to ", ranks - 1, ")"));
}

[[noreturn]] void not_running(std::string const& what, PodTable const& table) {
    std::string why;
    for (auto const& line : table.troubles()) why += text("; ", line);
    throw Unavailable(text(what, " (", table.status(), why,
                           "). sinew events shows more of what the cluster reports"));
}

}  // namespace

std::string find_rank_pod(k8s::Client& client, std::string const& job, std::string const& ns,
                          int pods, int ranks, int rank) {
    auto const table = table_of(client, job, ns, pods);
    auto const* const root = table.pod(0);
    auto const stage = table.stage(0);
    if (root == nullptr || (stage != PodTable::Stage::running && stage != PodTable::Stage::ended)) {
        check_range(rank, std::max(ranks, 1), job);
        not_running(text("the ranks of job ", job, " do not run yet"), table);
    }
    auto told =
        last_told(client.log({.pod = root->name, .container = container_name, .ns = ns}), rank);
    if (told.nodes) {
        check_range(rank, told.nodes->size(), job);
        told.node = told.nodes->node_of(rank);
    } else {
        check_range(rank, std::max(ranks, 1), job);
        if (rank == 0) told.node = job + "-0";  // wherever the others are
    }
    int const index = index_of(told.node);
    if (index < 0)
        not_running(text("the ranks of job ", job, " are not placed yet, or the log of ",
                         root->name, " no longer says where rank ", rank, " is"),
                    table);
    auto const* const pod = table.pod(index);
    if (pod != nullptr && table.stage(index) == PodTable::Stage::running) return pod->name;
    not_running(text("the pod of rank ", rank, ", ", pod == nullptr ? told.node : pod->name,
                     ", does not run"),
                table);
}

}  // namespace sinew::launch::kubernetes
