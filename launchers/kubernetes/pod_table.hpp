// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "k8s/objects/event_view.hpp"
#include "k8s/objects/pod_view.hpp"

namespace sinew::launch::kubernetes {

/// The pods of one job, as watches report them: how far each has come, and why not further.
/// Without I/O.
class PodTable {
public:
    enum class Stage { absent, waiting, scheduled, pulling, running, joined, ended };

    PodTable(std::string job, int pods) : job_(std::move(job)), wanted_(pods) {}

    void update(k8s::PodView const& pod);
    void remove(k8s::PodView const& pod);
    void note(k8s::EventView const& event);
    /// The root has linked to the agent of this index.
    void joined(int index);
    /// The number of pods that the job should have now.
    void want(int pods) { wanted_ = pods; }

    int wanted() const { return wanted_; }
    bool empty() const { return by_uid_.empty(); }
    Stage stage(int index) const;
    /// The newest pod of this index; null if there is none.
    k8s::PodView const* pod(int index) const;
    /// "4 pods: 1 pulling, 3 running", in the order of the stages.
    std::string status() const;
    bool all_joined() const;

    /// Lines that say what keeps pods from running, and which: those not returned before.
    std::vector<std::string> new_troubles();
    /// The same of all, now.
    std::vector<std::string> troubles() const;

private:
    struct Entry {
        k8s::PodView pod;
        std::string warning;  ///< the last warning of its events
        bool pulling = false, joined = false;
        std::optional<int> index;  ///< under which it is in by_index_
        long order = 0;            ///< grows with each new pod
    };
    Entry* newest(int index) const;
    Stage stage_of(Entry const* entry) const;
    std::string name_of(int index) const;

    std::string const job_;
    int wanted_;
    std::map<std::string, Entry> by_uid_;
    /// By completion index, then by order. None is empty.
    std::map<std::optional<int>, std::map<long, Entry*>> by_index_;
    std::string job_warning_;
    std::set<std::string> told_;
    long orders_ = 0;
};

}  // namespace sinew::launch::kubernetes
