// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/calibrate.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "collectives/reducer.hpp"
#include "collectives/tuning/exchange_times.hpp"
#include "collectives/tuning/probe.hpp"

namespace sinew::collectives {

namespace {

/// The ranks of a node, in order.
using Members = std::vector<int>;

std::vector<Members> members_of_nodes(std::span<int const> node_of) {
    std::vector<Members> nodes;
    for (std::size_t rank = 0; rank < node_of.size(); ++rank) {
        auto const node = static_cast<std::size_t>(node_of[rank]);
        if (node >= nodes.size()) nodes.resize(node + 1);
        nodes[node].push_back(static_cast<int>(rank));
    }
    return nodes;
}

/// The rings in which the levels are measured. A rank is in one of each kind at most.
class Rings {
public:
    Rings(Channel& channel, Setting const& setting)
        : channel_(channel), crowded_(setting.crowded), nodes_(members_of_nodes(setting.node_of)),
          home_(
              static_cast<std::size_t>(setting.node_of[static_cast<std::size_t>(channel.rank())])) {
        for (Members const& node : nodes_) per_node_ = std::max(per_node_, node.size());
    }

    bool several_nodes() const { return nodes_.size() > 1; }
    int nodes() const { return static_cast<int>(nodes_.size()); }
    std::size_t per_node() const { return per_node_; }

    /// The ranks of this node. The clock is on the first of the fullest nodes.
    Probe on_node() const {
        auto const fullest = std::find_if(nodes_.begin(), nodes_.end(), [&](Members const& node) {
            return node.size() == per_node_;
        });
        return {channel_, nodes_[home_], fullest->front(), crowded_};
    }
    /// One rank of each node.
    Probe between_nodes() const {
        bool const is_first = nodes_[home_].front() == channel_.rank();
        return {channel_, is_first ? lane(0) : Members{}, nodes_.front().front(), crowded_};
    }
    /// All ranks, each with those of other nodes that have its number there.
    Probe lanes() const {
        auto const self = std::find(nodes_[home_].begin(), nodes_[home_].end(), channel_.rank());
        return {channel_, lane(static_cast<std::size_t>(self - nodes_[home_].begin())),
                nodes_.front().front(), crowded_};
    }

private:
    Members lane(std::size_t number) const {
        Members members;
        for (Members const& node : nodes_)
            if (number < node.size()) members.push_back(node[number]);
        return members;
    }

    Channel& channel_;
    bool crowded_;
    std::vector<Members> nodes_;
    std::size_t home_;
    std::size_t per_node_ = 1;
};

void fit_exchanges(Probe& probe, Level& level) {
    auto const measure = [&](std::size_t bytes, int repetitions) {
        return probe.exchange(bytes, repetitions);
    };
    // It measures twice, some ms apart, because another program may have had the core.
    level.seconds = exchange_times(measure);
    auto const again = exchange_times(measure);
    for (std::size_t i = 0; i < Level::sizes.size(); ++i)
        level.seconds[i] = std::min(level.seconds[i], again[i]);
}

struct Cut {
    std::size_t segment;
    int window;
};
// Between nodes, segments stay below the eager limit of TCP transports (64 KiB), with a window that
// hides a round trip. Within a node a message costs a hand-over, so larger ones may be better.
constexpr Cut cuts_of_network[] = {{16384, 16}};
constexpr Cut cuts_of_node[] = {{32768, 8}, {131072, 4}, {524288, 2}};

/// Streams the same number of bytes however many ranks there are.
void fit_stream(Probe& probe, std::span<Cut const> cuts, Level& level) {
    constexpr double slow = 0.5e-3;  // seconds
    std::size_t const bytes =
        level.exchange(65536) > slow ? std::size_t{256} << 10 : std::size_t{2} << 20;
    double best = HUGE_VAL;
    for (Cut const& cut : cuts) {
        double const time = probe.stream(bytes, cut.segment, cut.window, 3);
        if (time >= best) continue;
        best = time;
        level.segment = cut.segment;
        level.window = cut.window;
    }
    // The first segment is a latency, not a part of the stream.
    double const all = static_cast<double>(bytes), rest = all - static_cast<double>(level.segment);
    level.stream_per_byte = std::max((best - level.exchange(level.segment)) / rest, best / all / 2);
}

/// Measures how far concurrent messages of a rank hide or hinder each other. Takes the same number
/// of members on all ranks.
void fit_overlap(Probe& probe, int members, Level& level) {
    int const partners = std::min(members - 1, 4);
    if (partners < 2) return;
    constexpr std::size_t bytes = 16384;
    double const one = probe.exchange(bytes, 10), all = probe.burst(partners, bytes, 10);
    double const share = (all - one) / ((partners - 1) * one);
    level.overlap = std::clamp(share, 0.1, 4.0);
}

/// Measures what the other ranks of a node add when they use its network card, too.
void fit_gap(Probe& one, Probe& all, std::size_t per_node, Level& level) {
    auto const added = [&](std::size_t bytes) {
        double const alone = one.exchange(bytes, 20), together = all.exchange(bytes, 20);
        return std::max(together - alone, 0.0) / static_cast<double>(per_node - 1);
    };
    constexpr std::size_t small = 8, large = 65536;
    level.gap_per_message = added(small);
    level.gap_per_byte = std::max(added(large) - level.gap_per_message, 0.0) / large;
}

double time_reduction() {
    using Clock = std::chrono::steady_clock;
    constexpr std::size_t count = 16384;
    std::vector<float> a(count, 1.0F), b(count, 2.0F);
    Reducer const add(sum, DataType::Kind::f32);
    double best = HUGE_VAL;
    for (int i = 0; i < 6; ++i) {
        auto const start = Clock::now();
        add.combine(a.data(), a.data(), b.data(), count);
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return best / static_cast<double>(count * sizeof(float));
}

}  // namespace

Model calibrate(Channel& channel, Setting const& setting) {
    Model model;
    Rings const rings(channel, setting);
    if (rings.per_node() > 1) {
        Probe probe = rings.on_node();
        fit_exchanges(probe, model.node);
        fit_stream(probe, cuts_of_node, model.node);
        fit_overlap(probe, static_cast<int>(rings.per_node()), model.node);
    }
    if (rings.several_nodes()) {
        Probe probe = rings.between_nodes();
        fit_exchanges(probe, model.network);
        fit_stream(probe, cuts_of_network, model.network);
        fit_overlap(probe, rings.nodes(), model.network);
        if (rings.per_node() > 1) {
            Probe lanes = rings.lanes();
            fit_gap(probe, lanes, rings.per_node(), model.network);
        }
    }
    model.reduce_per_byte = agreed(channel, time_reduction(), 0);
    return model;
}

Vital measure_vital(Channel& channel, Setting const& setting) {
    Rings const rings(channel, setting);
    Probe probe = rings.several_nodes() ? rings.between_nodes() : rings.on_node();
    return {.latency = probe.exchange(8, 20), .medium = probe.exchange(65536, 5)};
}

bool holds(Model const& model, Vital const& measured, bool across_nodes) {
    constexpr double tolerance = 1.5;
    Level const& level = across_nodes ? model.network : model.node;
    auto const close = [&](double expected, double seconds) {
        return expected <= tolerance * seconds && seconds <= tolerance * expected;
    };
    return close(level.exchange(8), measured.latency) &&
           close(level.exchange(65536), measured.medium);
}

}  // namespace sinew::collectives
