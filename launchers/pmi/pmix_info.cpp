// SPDX-License-Identifier: Apache-2.0
#include "launchers/pmi/pmix_info.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

std::uint32_t number(std::size_t value) { return static_cast<std::uint32_t>(value); }

std::string joined(std::vector<std::string> const& words, char separator) {
    std::string all;
    for (auto const& word : words) all += (all.empty() ? "" : std::string(1, separator)) + word;
    return all;
}

std::string joined(std::vector<int> const& ranks) {
    std::vector<std::string> words;
    for (int const rank : ranks) words.push_back(std::to_string(rank));
    return joined(words, ',');
}

int app_of(PmixJob const& job, std::size_t rank) {
    return job.app_of_rank.empty() ? 0 : job.app_of_rank[rank];
}

// The ranks of each node and of each application counted so far, while walking through the ranks.
struct Counts {
    std::vector<std::uint32_t> of_node, of_app;
    explicit Counts(PmixJob const& job)
        : of_node(job.nodes.size()), of_app(std::max<std::size_t>(1, job.argv_of_app.size())) {}
};

PmixItem rank_entry(PmixJob const& job, std::size_t rank, Counts& counts,
                    PmixDerived const& derived) {
    int const node = job.node_of_rank[rank], app = app_of(job, rank);
    std::uint32_t const local = counts.of_node[node]++;
    PmixItems entry{{PMIX_RANK, PmixRank{number(rank)}},
                    {PMIX_GLOBAL_RANK, PmixRank{number(rank)}},
                    {PMIX_APPNUM, number(app)},
                    {PMIX_APP_RANK, PmixRank{counts.of_app[app]++}},
                    {PMIX_LOCAL_RANK, static_cast<std::uint16_t>(local)},
                    {PMIX_NODE_RANK, static_cast<std::uint16_t>(local)},
                    {PMIX_NODEID, number(node)},
                    {PMIX_HOSTNAME, job.nodes[node]},
                    {PMIX_REINCARNATION, number(job.restart)}};
    if (node == job.node) {
        entry.push_back({PMIX_PROCDIR, text(session_folder(job), "/", rank)});
        if (local < job.cpuset_of_local_rank.size() && !job.cpuset_of_local_rank[local].empty())
            entry.push_back({PMIX_CPUSET, "hwloc:" + job.cpuset_of_local_rank[local]});
        if (local < derived.localities.size() && !derived.localities[local].empty())
            entry.push_back({PMIX_LOCALITY_STRING, derived.localities[local]});
    }
    return {PMIX_PROC_DATA, std::move(entry)};
}

PmixItem app_entry(PmixJob const& job, std::size_t app) {
    std::uint32_t size = 0, leader = 0;
    for (std::size_t rank = 0; rank < job.node_of_rank.size(); ++rank)
        if (app_of(job, rank) == static_cast<int>(app) && size++ == 0) leader = number(rank);
    PmixItems entry{{PMIX_APPNUM, number(app)},
                    {PMIX_APP_SIZE, size},
                    {PMIX_APPLDR, PmixRank{leader}},
                    {PMIX_APP_ARGV, joined(job.argv_of_app[app], ' ')}};
    if (app < job.folder_of_app.size()) entry.push_back({PMIX_WDIR, job.folder_of_app[app]});
    return {PMIX_APP_INFO_ARRAY, std::move(entry)};
}

void add_sizes(PmixJob const& job, PmixItems& items) {
    auto const size = job.node_of_rank.size();
    auto const here = ranks_on_node(job, job.node);
    auto const universe = std::max(number(size), number(std::max(job.universe, 0)));
    items.push_back({PMIX_JOB_SIZE, number(size)});
    items.push_back({PMIX_UNIV_SIZE, universe});
    items.push_back({PMIX_MAX_PROCS, universe});
    items.push_back({PMIX_NUM_NODES, number(job.nodes.size())});
    items.push_back({PMIX_JOB_NUM_APPS, number(std::max<std::size_t>(1, job.argv_of_app.size()))});
    items.push_back({PMIX_LOCAL_SIZE, number(here.size())});
    items.push_back({PMIX_NODE_SIZE, number(here.size())});
    items.push_back({PMIX_LOCAL_PEERS, joined(here)});
    if (!here.empty()) items.push_back({PMIX_LOCALLDR, PmixRank{number(here.front())}});
}

}  // namespace

std::vector<int> ranks_on_node(PmixJob const& job, int node) {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < job.node_of_rank.size(); ++rank)
        if (job.node_of_rank[rank] == node) ranks.push_back(static_cast<int>(rank));
    return ranks;
}

std::string node_list(PmixJob const& job) { return joined(job.nodes, ','); }

bool packs_well(PmixJob const& job) {
    return std::all_of(job.nodes.begin(), job.nodes.end(), [](std::string const& name) {
        auto const letters =
            name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (letters == std::string::npos) return name.size() < 50;
        auto const end = name.find_first_not_of("0123456789", letters);
        return letters < 50 && std::min(end, name.size()) - letters < 10;
    });
}

std::string rank_list(PmixJob const& job) {
    std::vector<std::vector<int>> ranks(job.nodes.size());
    for (std::size_t rank = 0; rank < job.node_of_rank.size(); ++rank)
        ranks[job.node_of_rank[rank]].push_back(static_cast<int>(rank));
    std::vector<std::string> words;
    for (auto const& of_node : ranks) words.push_back(joined(of_node));
    return joined(words, ';');
}

std::string session_folder(PmixJob const& job) { return job.folder + "/ompi/" + job.name; }

void check_job(PmixJob const& job) {
    auto const refuse = [&](std::string const& why) {
        throw UsageError(text("job ", job.name, " cannot be registered with PMIx (", why, ")"));
    };
    if (job.name.empty() || job.name.size() > PMIX_MAX_NSLEN)
        refuse(text("its name has ", job.name.size(), " characters (1 to 255 are allowed)"));
    std::set<std::string> names;
    for (auto const& name : job.nodes)
        // The library finds its node by name: ranks could assume shared memory they do not have.
        if (name.empty() || !names.insert(name).second)
            refuse(text("node name '", name, "' is empty or occurs twice; names must differ"));
    int const nodes = static_cast<int>(job.nodes.size());
    int const apps = std::max(1, static_cast<int>(job.argv_of_app.size()));
    if (job.node < 0 || job.node >= nodes) refuse(text("node ", job.node, " of ", nodes));
    if (job.node_of_rank.empty()) refuse("it has no ranks");
    for (int const node : job.node_of_rank)
        if (node < 0 || node >= nodes) refuse(text("a rank on node ", node, " of ", nodes));
    if (!job.app_of_rank.empty() && job.app_of_rank.size() != job.node_of_rank.size())
        refuse(
            text(job.app_of_rank.size(), " applications for ", job.node_of_rank.size(), " ranks"));
    for (int const app : job.app_of_rank)
        if (app < 0 || app >= apps) refuse(text("a rank of application ", app, " of ", apps));
    // The library's rank map cannot express nodes without ranks.
    std::set<int> const used(job.node_of_rank.begin(), job.node_of_rank.end());
    if (static_cast<int>(used.size()) != nodes) refuse("a node without ranks");
}

PmixItems job_info(PmixJob const& job, PmixDerived const& derived) {
    PmixItems items;
    items.push_back({PMIX_JOBID, job.name});
    items.push_back({PMIX_NODE_MAP, derived.nodes});
    items.push_back({PMIX_PROC_MAP, derived.ranks});
    add_sizes(job, items);
    items.push_back({PMIX_TMPDIR, job.folder + "/ompi"});
    items.push_back({PMIX_NSDIR, session_folder(job)});
    items.push_back({PMIX_TDIR_RMCLEAN, true});  // the agent removes them, not the ranks
    items.push_back({PMIX_NODE_OVERSUBSCRIBED, job.oversubscribed});
    items.push_back({PMIX_USERID, number(::geteuid())});
    items.push_back({PMIX_GRPID, number(::getegid())});
    for (std::size_t app = 0; app < job.argv_of_app.size(); ++app)
        items.push_back(app_entry(job, app));
    Counts counts(job);
    for (std::size_t rank = 0; rank < job.node_of_rank.size(); ++rank)
        items.push_back(rank_entry(job, rank, counts, derived));
    return items;
}

PmixInfos::PmixInfos(PmixItems items) : items_(std::move(items)), infos_(items_.size()) {
    for (std::size_t i = 0; i < items_.size(); ++i) {
        std::strncpy(infos_[i].key, items_[i].key.c_str(), PMIX_MAX_KEYLEN);
        fill(infos_[i].value, items_[i]);
    }
}

void PmixInfos::fill(pmix_value_t& to, PmixItem& from) {
    auto const set = [&to](pmix_data_type_t type, auto& field, auto value) {
        to.type = type;
        field = value;
    };
    if (auto* flag = std::get_if<bool>(&from.value)) set(PMIX_BOOL, to.data.flag, *flag);
    if (auto* count = std::get_if<std::uint16_t>(&from.value))
        set(PMIX_UINT16, to.data.uint16, *count);
    if (auto* count = std::get_if<std::uint32_t>(&from.value))
        set(PMIX_UINT32, to.data.uint32, *count);
    if (auto* rank = std::get_if<PmixRank>(&from.value))
        set(PMIX_PROC_RANK, to.data.rank, rank->value);
    if (auto* words = std::get_if<std::string>(&from.value))
        set(PMIX_STRING, to.data.string, words->data());
    if (auto* packed = std::get_if<PmixPacked>(&from.value)) {
        to.type = PMIX_REGEX;
        to.data.bo = {packed->bytes.data(), packed->bytes.size()};
    }
    if (auto* entry = std::get_if<PmixItems>(&from.value)) {
        auto& inner = *nested_.emplace_back(std::make_unique<PmixInfos>(std::move(*entry)));
        arrays_.push_back({PMIX_INFO, inner.size(), inner.data()});
        set(PMIX_DATA_ARRAY, to.data.darray, &arrays_.back());
    }
}

}  // namespace sinew::launch
