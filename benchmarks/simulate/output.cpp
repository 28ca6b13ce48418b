// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/simulate/output.hpp"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "benchmarks/support/gnuplot.hpp"
#include "benchmarks/support/sizes.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

constexpr int ranks_width = 8, size_width_here = 7, time_width = 14, gain_width = 16;

void print_network(std::ostream& out, Cluster const& cluster) {
    Network const& network = cluster.network;
    out << "\n# " << network.name << ": " << fixed(network.link.rate * 8e-9, 1)
        << " Gbit/s of payload, " << fixed(network.link.latency * 1e6, 1) << " us; "
        << cluster.ranks_per_node << " ranks per node\n# " << network.source << '\n'
        << std::setw(ranks_width) << "ranks" << std::setw(size_width_here) << "size";
    for (Plan const plan : plans) out << std::setw(time_width) << name(plan);
    out << std::setw(time_width) << "fastest" << std::setw(gain_width) << "flat ring / it" << '\n';
}

}  // namespace

std::string simulation_table(SimulateOptions const& options) {
    std::ostringstream out;
    for (Cluster const& cluster : options.clusters) {
        print_network(out, cluster);
        for (int const ranks : options.ranks)
            for (std::size_t const bytes : options.sizes) {
                out << std::setw(ranks_width) << ranks << std::setw(size_width_here)
                    << format_size(bytes);
                for (Plan const plan : plans)
                    out << std::setw(time_width)
                        << fixed(seconds_of(plan, cluster, ranks, bytes, options.collective) * 1e6,
                                 1);
                Plan const best = fastest(cluster, ranks, bytes, options.collective);
                double const gain =
                    seconds_of(Plan::flat_ring, cluster, ranks, bytes, options.collective) /
                    seconds_of(best, cluster, ranks, bytes, options.collective);
                out << std::setw(time_width) << name(best) << std::setw(gain_width)
                    << fixed(gain, 2) << '\n';
            }
    }
    return std::move(out).str();
}

std::string simulation_json(SimulateOptions const& options) {
    auto rows = nlohmann::ordered_json::array();
    for (Cluster const& cluster : options.clusters)
        for (int const ranks : options.ranks)
            for (std::size_t const bytes : options.sizes) {
                nlohmann::ordered_json row{{"collective", std::string(name(options.collective))},
                                           {"network", cluster.network.name},
                                           {"rate_bits", cluster.network.link.rate * 8},
                                           {"latency_us", cluster.network.link.latency * 1e6},
                                           {"ranks_per_node", cluster.ranks_per_node},
                                           {"ranks", ranks},
                                           {"bytes", bytes}};
                for (Plan const plan : plans)
                    row["us"][std::string(name(plan))] =
                        seconds_of(plan, cluster, ranks, bytes, options.collective) * 1e6;
                row["fastest"] =
                    std::string(name(fastest(cluster, ranks, bytes, options.collective)));
                rows.push_back(row);
            }
    return rows.dump(1) + '\n';
}

std::string simulation_plot(SimulateOptions const& options) {
    int const ranks = *std::max_element(options.ranks.begin(), options.ranks.end());
    std::size_t const panels = options.clusters.size();
    std::string script = plot_head(options.plot, static_cast<int>(400 * panels)) +
                         "set logscale y\nset xlabel 'bytes'\nset ylabel 'time (us)'\n";
    if (panels > 1) script += text("set multiplot layout ", panels, ",1\n");
    std::map<std::size_t, std::string> marks;
    for (std::size_t const bytes : options.sizes) marks.emplace(bytes, format_size(bytes));
    script += marked_x_axis(marks);
    for (std::size_t i = 0; i < panels; ++i) {
        Cluster const& cluster = options.clusters[i];
        Curves curves;
        for (Plan const plan : plans)
            for (std::size_t const bytes : options.sizes)
                curves[std::string(name(plan))] +=
                    text(bytes, ' ',
                         seconds_of(plan, cluster, ranks, bytes, options.collective) * 1e6, '\n');
        script += text("set title ",
                       quoted(text(name(options.collective), " of ", ranks, " ranks, ",
                                   cluster.ranks_per_node, " per node, ", cluster.network.name,
                                   " (simulated)")),
                       " noenhanced\n") +
                  plot_curves(curves, text("panel", i, "curve"));
    }
    return panels > 1 ? script + "unset multiplot\n" : script;
}

}  // namespace sinew::bench
