// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/pod_table.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "launchers/common/exit_codes.hpp"
#include "launchers/kubernetes/objects/pod_template.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::kubernetes {
namespace {

// An agent that was asked to end is no trouble; why it was asked, may be one.
bool left_by_order(k8s::PodView const& pod) {
    auto const* const main = pod.container(container_name);
    return pod.disruption() == nullptr && pod.reason.empty() && main != nullptr &&
           main->state == k8s::ContainerView::State::terminated && main->exit_code == exit_replace;
}

}  // namespace

void PodTable::update(k8s::PodView const& pod) {
    auto const at = by_uid_.find(pod.uid);
    if (at != by_uid_.end()) {
        at->second.pod = pod;
        return;
    }
    auto const order = ++orders_;
    auto const added = by_uid_.emplace(
        pod.uid, Entry{.pod = pod, .warning = {}, .index = pod.index, .order = order});
    by_index_[pod.index][order] = &added.first->second;
}

void PodTable::remove(k8s::PodView const& pod) {
    auto const at = by_uid_.find(pod.uid);
    if (at == by_uid_.end()) return;
    auto const same = by_index_.find(at->second.index);
    same->second.erase(at->second.order);
    if (same->second.empty()) by_index_.erase(same);
    by_uid_.erase(at);
}

void PodTable::note(k8s::EventView const& event) {
    auto const words = text(event.reason, ": ", event.message);
    if (event.object_kind == "Job" && event.object_name == job_ && event.warning())
        job_warning_ = words;
    auto const at = by_uid_.find(event.object_uid);
    if (event.object_kind != "Pod" || at == by_uid_.end()) return;
    if (event.reason == "Pulling") at->second.pulling = true;
    if (event.warning()) at->second.warning = words;
}

void PodTable::joined(int index) {
    if (auto* entry = newest(index)) entry->joined = true;
}

PodTable::Entry* PodTable::newest(int index) const {
    auto const same = by_index_.find(index);
    return same == by_index_.end() ? nullptr : same->second.rbegin()->second;
}

k8s::PodView const* PodTable::pod(int index) const {
    auto const* entry = newest(index);
    return entry == nullptr ? nullptr : &entry->pod;
}

PodTable::Stage PodTable::stage(int index) const { return stage_of(newest(index)); }

PodTable::Stage PodTable::stage_of(Entry const* entry) const {
    if (entry == nullptr) return Stage::absent;
    if (entry->pod.finished()) return Stage::ended;
    auto const* const main = entry->pod.container(container_name);
    bool const runs = main != nullptr && main->state == k8s::ContainerView::State::running;
    if (runs) return entry->joined ? Stage::joined : Stage::running;
    if (main != nullptr && main->state == k8s::ContainerView::State::terminated)
        return Stage::ended;
    if (entry->pod.node.empty()) return Stage::waiting;
    return entry->pulling ? Stage::pulling : Stage::scheduled;
}

std::string PodTable::status() const {
    static constexpr std::array names{
        "not created", "waiting for a node", "scheduled", "pulling", "running", "joined", "ended"};
    std::array<int, names.size()> counts{};
    for (int index = 0; index < wanted_; ++index) ++counts[static_cast<std::size_t>(stage(index))];
    std::string words = text(wanted_, wanted_ == 1 ? " pod: " : " pods: ");
    bool first = true;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (counts[i] == 0) continue;
        words += text(first ? "" : ", ", counts[i], " ", names[i]);
        first = false;
    }
    return words;
}

bool PodTable::all_joined() const {
    for (int index = 0; index < wanted_; ++index)
        if (stage(index) != Stage::joined) return false;
    return true;
}

std::string PodTable::name_of(int index) const { return text(job_, "-", index); }

// Pods with the same trouble share a line: "train-1 and 2 more pods: Unschedulable: ...".
std::vector<std::string> PodTable::troubles() const {
    std::map<std::string, std::vector<int>> by_words;
    for (int index = 0; index < wanted_; ++index) {
        auto const* entry = newest(index);
        auto const stage = stage_of(entry);
        if (entry == nullptr) continue;
        if (stage == Stage::joined && entry->pod.disruption() == nullptr) continue;
        auto words = left_by_order(entry->pod) ? std::string() : entry->pod.trouble();
        if (words.empty() && stage != Stage::ended) words = entry->warning;
        if (!words.empty()) by_words[words].push_back(index);
    }
    std::vector<std::string> lines;
    for (auto const& [words, pods] : by_words) {
        auto const more = pods.size() - 1;
        lines.push_back(
            text(name_of(pods.front()),
                 more == 0 ? "" : text(" and ", more, more == 1 ? " more pod" : " more pods"), ": ",
                 words));
    }
    bool const some_absent = [&] {
        for (int index = 0; index < wanted_; ++index)
            if (stage(index) == Stage::absent) return true;
        return false;
    }();
    if (some_absent && !job_warning_.empty()) lines.push_back(text(job_, ": ", job_warning_));
    return lines;
}

std::vector<std::string> PodTable::new_troubles() {
    std::vector<std::string> lines;
    for (auto const& line : troubles()) {
        // The same trouble of more pods is not told again.
        auto const words = line.substr(std::min(line.find(": "), line.size()));
        if (told_.insert(words).second) lines.push_back(line);
    }
    return lines;
}

}  // namespace sinew::launch::kubernetes
