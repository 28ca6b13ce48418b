// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/tuner.hpp"

#include <algorithm>
#include <bit>
#include <iomanip>
#include <limits>
#include <sstream>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::collectives {

namespace {

/// Simpler algorithms come first in the catalogue. A later one must promise this fraction of the
/// time or less, because the model is not exact, and more steps are more occasions to wait.
constexpr double worthwhile = 0.98;

constexpr std::size_t kib = std::size_t{1} << 10;
constexpr std::size_t mib = std::size_t{1} << 20;

Collective parse_collective(std::string_view word, std::string_view setting) {
    for (int i = 0; i < collectives_count; ++i)
        if (name(static_cast<Collective>(i)) == word) return static_cast<Collective>(i);
    throw UsageError(
        text("\"", word, "\" in \"", setting,
             "\" is not a collective. Write for example allreduce:ring,broadcast:chain"));
}

/// Each rank knows only its own blocks of an alltoallv, so the choice must not depend on them.
constexpr std::size_t unknown_block = 16 * kib;

/// The size that stands for the bucket of `bytes`.
std::size_t middle_of_bucket(std::size_t bytes) {
    std::size_t const power = std::bit_floor(bytes), half = bytes & power / 2;
    return power + half + power / 4;
}

/// The shape that stands for the bucket of `shape`.
Shape typical_of(Collective collective, Shape const& shape) {
    Shape typical = shape;
    typical.bytes = collective == Collective::alltoallv
                        ? unknown_block * static_cast<std::size_t>(shape.ranks)
                        : middle_of_bucket(shape.bytes);
    return typical;
}

/// The least edge of a bucket that is not below `bytes`.
std::size_t edge(std::size_t bytes) {
    std::size_t const power = std::bit_ceil(bytes), before = power / 4 * 3;
    return bytes <= before ? before : power;
}

/// Whether all algorithms of one order may carry this call out, or only some:
enum Freedom : std::size_t {
    any_order,   ///< all orders give the same bits
    one_order,   ///< they differ from three ranks on
    user_order,  ///< a op b may differ from b op a
    rank_order,  ///< ... and is another result
    number_of_freedoms
};
static_assert(number_of_freedoms == Tuner::freedoms);

Freedom freedom(Shape const& shape, bool order_matters) {
    if (!shape.commutative) return rank_order;
    if (!order_matters) return any_order;
    return shape.symmetric ? one_order : user_order;
}

bool is_scan(Collective collective) {
    return collective == Collective::scan || collective == Collective::exscan;
}

}  // namespace

Tuner::Tuner(Model const& model, std::string_view forced) : model_(model) {
    for (std::string_view rest = forced; !rest.empty();) {
        std::string_view const item = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), item.size() + 1));
        std::size_t const colon = item.find(':');
        if (colon == item.npos)
            throw UsageError(text("\"", item, "\" in \"", forced,
                                  "\" (expected collective:algorithm, such as allreduce:ring)"));
        Collective const collective = parse_collective(item.substr(0, colon), forced);
        forced_[static_cast<std::size_t>(collective)] =
            &find_algorithm(collective, item.substr(colon + 1));
    }
}

std::size_t Tuner::ring_border(int ranks, int nodes) {
    if (nodes == 1) return 4 * mib;
    // A tree in blocks of ranks then sends each byte once between the nodes, a ring twice.
    if (nodes == 2 && ranks > 2) return std::numeric_limits<std::size_t>::max();
    auto const p = static_cast<std::size_t>(ranks);
    if (std::has_single_bit(p)) return edge(std::max(256 * kib, p * 32 * kib));
    return edge(std::max(nodes == ranks ? 0 : 256 * kib, p * 16 * kib));
}

std::size_t Tuner::lanes_border(int nodes, int per_node) {
    auto const n = static_cast<std::size_t>(nodes), lanes = static_cast<std::size_t>(per_node);
    return edge(std::max(256 * kib, n * (32 * kib + lanes * 2 * kib)));
}

std::size_t Tuner::scan_border(int ranks, int nodes) {
    auto const slow_hops = static_cast<std::size_t>(nodes > 1 ? nodes : ranks);
    auto const hops = static_cast<std::size_t>(ranks);
    return edge(std::max({64 * kib, slow_hops * 4 * kib, hops * kib / 4}));
}

std::size_t Tuner::bucket(std::size_t bytes) {
    if (bytes < 2) return bytes;
    auto const width = static_cast<std::size_t>(std::bit_width(bytes));
    return 2 * (width - 1) + (bytes >> (width - 2) & 1);
}

std::pair<std::size_t, std::size_t> Tuner::sizes_of(std::size_t bucket) {
    auto const first = [](std::size_t b) {
        if (b < 2) return b;
        std::size_t const power = std::size_t{1} << (b / 2);
        return power + (b % 2) * (power / 2);
    };
    std::size_t const most = std::numeric_limits<std::size_t>::max();
    return {first(bucket), bucket + 1 < buckets ? first(bucket + 1) - 1 : most};
}

Tuner::Kind Tuner::kind_of(Collective collective, Shape const& shape, bool order_matters) {
    return {collective, shape.by_node, static_cast<std::uint8_t>(freedom(shape, order_matters)),
            static_cast<std::uint8_t>(bucket(shape.bytes))};
}

Algorithm const& Tuner::choose(Collective collective, Shape const& shape, bool order_matters) {
    // Whether there is memory may differ between the communicators that share this tuner.
    if (shape.shared) return choice(collective, shape, order_matters);
    // Which algorithms apply depends on the ranks, the memory and whether the operation commutes, so
    // each bucket has one answer, whichever of its sizes comes first.
    auto& known = chosen_[static_cast<std::size_t>(collective)][shape.by_node ? 1 : 0]
                         [freedom(shape, order_matters)][bucket(shape.bytes)];
    auto const all = algorithms(collective);
    if (auto const row = known.load(std::memory_order_relaxed)) return all[row - 1U];
    Algorithm const& found = choice(collective, shape, order_matters);
    known.store(static_cast<std::uint8_t>(&found - all.data() + 1), std::memory_order_relaxed);
    return found;
}

Algorithm const& Tuner::choice(Collective collective, Shape const& shape,
                               bool order_matters) const {
    Algorithm const* const forced = forced_[static_cast<std::size_t>(collective)];
    if (forced != nullptr && forced->applies(shape)) return *forced;
    if (shape.shared) return shared_algorithm(collective);
    return fastest(collective, typical_of(collective, shape), order_matters);
}

std::vector<Tuner::Expected> Tuner::alternatives(Collective collective, Shape const& shape,
                                                 bool order_matters) const {
    Algorithm const& first = choice(collective, shape, order_matters);
    Shape const typical = typical_of(collective, shape);
    std::vector<Expected> all{{&first, first.seconds(typical, model_)}};
    Algorithm const* const forced = forced_[static_cast<std::size_t>(collective)];
    if (shape.shared || (forced != nullptr && forced->applies(shape))) return all;
    auto const order = required_order(collective, typical, order_matters);
    for (Algorithm const& other : algorithms(collective))
        if (&other != &first && other.applies(typical) && (!order || other.order == *order))
            all.push_back({&other, other.seconds(typical, model_)});
    std::stable_sort(all.begin() + 1, all.end(),
                     [](Expected const& a, Expected const& b) { return a.expected < b.expected; });
    return all;
}

std::optional<Order> Tuner::required_order(Collective collective, Shape const& shape,
                                           bool order_matters) const {
    Freedom const free = freedom(shape, order_matters);
    // With two ranks a + b is the only order, and equal to b + a.
    bool const restricted = algorithms(collective).front().order != Order::none &&
                            free != any_order && (free != one_order || shape.ranks > 2);
    return restricted ? std::optional(fixed_order(collective, shape)) : std::nullopt;
}

/// The order in which a reduction of this shape is carried out if its order matters.
Order Tuner::fixed_order(Collective collective, Shape const& shape) const {
    auto const offers = [&](Order order) {
        auto const all = algorithms(collective);
        return std::any_of(all.begin(), all.end(), [&](Algorithm const& a) {
            return a.order == order && a.applies(shape);
        });
    };
    if (offers(Order::nodes_tree)) {
        bool const lanes =
            offers(Order::nodes_ring) &&
            shape.bytes >= lanes_border(model_.placement.nodes, model_.placement.per_node);
        return lanes ? Order::nodes_ring : Order::nodes_tree;
    }
    bool const ring = offers(Order::ring), tree = offers(Order::tree);
    if (!tree) return ring ? Order::ring : Order::linear;
    if (is_scan(collective))
        return shape.bytes >= scan_border(shape.ranks, model_.placement.nodes) ? Order::linear
                                                                               : Order::tree;
    bool const is_long = shape.bytes >= ring_border(shape.ranks, model_.placement.nodes);
    return ring && is_long ? Order::ring : Order::tree;
}

Algorithm const& Tuner::fastest(Collective collective, Shape const& shape,
                                bool order_matters) const {
    auto const all = algorithms(collective);
    auto const order = required_order(collective, shape, order_matters);
    Algorithm const* best = nullptr;
    double least = 0;
    for (Algorithm const& candidate : all) {
        if (!candidate.applies(shape) || (order && candidate.order != *order)) continue;
        double const seconds = candidate.seconds(shape, model_);
        if (best != nullptr && seconds >= worthwhile * least) continue;
        best = &candidate;
        least = seconds;
    }
    return best != nullptr ? *best : all.front();
}

std::string Tuner::explain(Collective collective, Shape const& like) const {
    std::ostringstream out;
    out << name(collective) << " on " << like.ranks
        << " ranks (f32 sum where it reduces); expected us per algorithm\n"
        << std::setw(12) << "bytes"
        << "  choice";
    for (Algorithm const& a : algorithms(collective)) out << "  " << a.name;
    out << '\n' << std::fixed << std::setprecision(1);
    for (std::size_t bytes = 8; bytes <= std::size_t{64} << 20; bytes *= 4) {
        Shape shape = like;
        shape.bytes = bytes;
        shape.count = bytes / 4;
        out << std::setw(12) << bytes << "  " << choice(collective, shape, true).name;
        for (Algorithm const& a : algorithms(collective)) {
            out << "  ";
            if (a.applies(shape)) out << a.seconds(shape, model_) * 1e6;
            else out << '-';
        }
        out << '\n';
    }
    for (Algorithm const& a : algorithms(collective))
        out << "  " << a.name << ": " << a.suits << '\n';
    return out.str();
}

}  // namespace sinew::collectives
