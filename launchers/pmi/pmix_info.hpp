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

/// A rank is no number, to PMIx.
struct PmixRank {
    std::uint32_t value = 0;
    bool operator==(PmixRank const&) const = default;
};
/// A list, packed by the library: not always text.
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

/// What only the library can work out.
struct PmixDerived {
    PmixPacked nodes, ranks;              ///< the maps
    std::vector<std::string> localities;  ///< by local rank; empty: unbound
};

/// Global ranks on a node, ascending.
std::vector<int> ranks_on_node(PmixJob const& job, int node);
/// "name,name": what the library packs into PmixDerived::nodes.
std::string node_list(PmixJob const& job);
/// Whether libpmix packs the list right: version 4.2 has 50 bytes for the letters a name begins with
/// (then it overwrites its stack) and an int for the number that follows.
bool packs_well(PmixJob const& job);
/// "0,1;2,3": what the library packs into PmixDerived::ranks.
std::string rank_list(PmixJob const& job);
/// Where the ranks of this job may put files.
std::string session_folder(PmixJob const& job);
/// Throws UsageError for a map with duplicate or missing names, or indices out of range.
void check_job(PmixJob const& job);
/// Everything that a client may ask about its job. All of it or nothing: a rank's entry without its
/// local rank makes MPI_Init fail where the library would have derived it.
PmixItems job_info(PmixJob const& job, PmixDerived const& derived);

/// The same in the library's form. Points into itself: neither copied nor moved.
class PmixInfos {
public:
    explicit PmixInfos(PmixItems items);
    PmixInfos(PmixInfos const&) = delete;
    PmixInfos& operator=(PmixInfos const&) = delete;

    pmix_info_t* data() { return infos_.data(); }
    std::size_t size() const { return infos_.size(); }

private:
    void fill(pmix_value_t& to, PmixItem& from);

    PmixItems items_;  // the strings pointed to
    std::vector<pmix_info_t> infos_;
    std::vector<std::unique_ptr<PmixInfos>> nested_;
    std::deque<pmix_data_array_t> arrays_;
};

}  // namespace sinew::launch
