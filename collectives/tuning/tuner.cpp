// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/tuner.hpp"

#include <algorithm>
#include <bit>
#include <iomanip>
#include <sstream>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::collectives {

namespace {

/// Simpler algorithms come first in the catalogue. A later one must promise this fraction of the
/// time or less, because the model is not exact, and more steps are more occasions to wait.
constexpr double worthwhile = 0.98;

Collective parse_collective(std::string_view word, std::string_view setting) {
    for (int i = 0; i < collectives_count; ++i)
        if (name(static_cast<Collective>(i)) == word) return static_cast<Collective>(i);
    throw UsageError(
        text("\"", word, "\" in \"", setting,
             "\" is not a collective. Write for example allreduce:ring,broadcast:chain"));
}

}  // namespace

Tuner::Tuner(Model const& model, bool across_nodes, std::string_view forced)
    : model_(model), ring_border_(ring_border(across_nodes)) {
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

Algorithm const& Tuner::choose(Collective collective, Shape const& shape, bool order_matters) {
    if (shape.shared && forced_[static_cast<std::size_t>(collective)] == nullptr)
        return shared_algorithm(collective);
    // Which algorithms apply depends only on the ranks and on whether the operation commutes, so
    // each bucket has one answer, whichever of its sizes comes first.
    auto& known = chosen_[static_cast<std::size_t>(collective)]
                         [(order_matters ? 2 : 0) + (shape.commutative ? 1 : 0)]
                         [std::bit_width(shape.bytes) % buckets];
    if (known == nullptr) known = &choice(collective, shape, order_matters);
    return *known;
}

Algorithm const& Tuner::choice(Collective collective, Shape const& shape,
                               bool order_matters) const {
    Algorithm const* const forced = forced_[static_cast<std::size_t>(collective)];
    if (forced != nullptr && forced->applies(shape)) return *forced;
    if (shape.shared) return shared_algorithm(collective);
    Shape typical = shape;
    typical.bytes = std::bit_floor(shape.bytes) + std::bit_floor(shape.bytes) / 2;
    return fastest(collective, typical, order_matters);
}

/// The order in which a reduction of this shape is carried out if its order matters.
Order Tuner::fixed_order(Collective collective, Shape const& shape) const {
    auto const offers = [&](Order order) {
        auto const all = algorithms(collective);
        return std::any_of(all.begin(), all.end(), [&](Algorithm const& a) {
            return a.order == order && a.applies(shape);
        });
    };
    if (shape.bytes >= ring_border_ && offers(Order::ring)) return Order::ring;
    return offers(Order::tree) ? Order::tree : Order::linear;
}

Algorithm const& Tuner::fastest(Collective collective, Shape const& shape,
                                bool order_matters) const {
    auto const all = algorithms(collective);
    // With two ranks there is only one order: a + b.
    bool const restricted = order_matters && shape.ranks > 2;
    Order const order = restricted ? fixed_order(collective, shape) : Order::none;
    Algorithm const* best = nullptr;
    double least = 0;
    for (Algorithm const& candidate : all) {
        if (!candidate.applies(shape) || (restricted && candidate.order != order)) continue;
        double const seconds = candidate.seconds(shape, model_);
        if (best != nullptr && seconds >= worthwhile * least) continue;
        best = &candidate;
        least = seconds;
    }
    return best != nullptr ? *best : all.front();
}

std::string Tuner::explain(Collective collective, int ranks, bool shared) const {
    std::ostringstream out;
    out << name(collective) << " on " << ranks
        << " ranks (f32 sum where it reduces); expected us per algorithm\n"
        << std::setw(12) << "bytes"
        << "  choice";
    for (Algorithm const& a : algorithms(collective)) out << "  " << a.name;
    out << '\n' << std::fixed << std::setprecision(1);
    for (std::size_t bytes = 8; bytes <= std::size_t{64} << 20; bytes *= 4) {
        Shape const shape{.ranks = ranks,
                          .bytes = bytes,
                          .count = bytes / 4,
                          .commutative = true,
                          .shared = shared};
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
