// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "launchers/pmi/pmix_server.hpp"

namespace sinew::launch {

/// A rank number, which for PMIx is not an integer.
struct PmixRank {
    std::uint32_t value = 0;
    bool operator==(PmixRank const&) const = default;
};
/// A list packed by the library, which may hold any bytes.
struct PmixPacked {
    std::string bytes;
    bool operator==(PmixPacked const&) const = default;
};
struct PmixItem;
using PmixItems = std::vector<PmixItem>;

/// One of the attributes that describe a job, as plain data.
struct PmixItem {
    std::string key;
    std::variant<bool, std::uint16_t, std::uint32_t, PmixRank, PmixPacked, std::string, PmixItems>
        value;
};

/// Values that only the library can compute.
struct PmixDerived {
    PmixPacked nodes, ranks;              ///< the packed maps
    std::vector<std::string> localities;  ///< by local rank; empty: unbound
};

/// Global ranks on a node, ascending.
std::vector<int> ranks_on_node(PmixJob const& job, int node);
/// "name,name": the list that the library packs into PmixDerived::nodes.
std::string node_list(PmixJob const& job);
/// Whether libpmix packs the list correctly. Version 4.2 has 50 bytes for the letters at the start
/// of a name (and overwrites its stack beyond) and an int for the number that follows.
bool packs_well(PmixJob const& job);
/// "0,1;2,3": the list that the library packs into PmixDerived::ranks.
std::string rank_list(PmixJob const& job);
/// The folder in which the ranks of this job may create files.
std::string session_folder(PmixJob const& job);
/// Throws UsageError for missing or duplicate names, indices out of range, or a node without ranks.
void check_job(PmixJob const& job);
/// Everything that a client may request about its job. Must be complete: with a rank's entry that
/// lacks its local rank MPI_Init fails, while without any entry the library would derive it.
PmixItems job_info(PmixJob const& job, PmixDerived const& derived);

/// The same in the library's format. Points into itself, so it can be neither copied nor moved.
class PmixInfos {
public:
    explicit PmixInfos(PmixItems items);
    PmixInfos(PmixInfos const&) = delete;
    PmixInfos& operator=(PmixInfos const&) = delete;

    pmix_info_t* data() { return infos_.data(); }
    std::size_t size() const { return infos_.size(); }

private:
    void fill(pmix_value_t& to, PmixItem& from);

    PmixItems items_;  // owns the strings that infos_ points to
    std::vector<pmix_info_t> infos_;
    std::vector<std::unique_ptr<PmixInfos>> nested_;
    std::deque<pmix_data_array_t> arrays_;
};

}  // namespace sinew::launch
