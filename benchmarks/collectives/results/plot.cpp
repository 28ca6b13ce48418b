// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/results/plot.hpp"

#include <algorithm>
#include <map>

#include "benchmarks/support/gnuplot.hpp"
#include "benchmarks/support/sizes.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

/// The curves' lines are "bytes value".
struct Panels {
    Curves times, ratios;
};

/// Returns "allreduce ring live f32", omitting the fields that are the same in all rows.
std::string title(Row const& row, std::vector<Row> const& rows) {
    std::string words;
    auto const add = [&](std::string Row::*field) {
        bool differ = false;
        for (Row const& other : rows) differ = differ || other.*field != row.*field;
        if (differ) words += " " + row.*field;
    };
    add(&Row::collective);
    add(&Row::dtype);
    add(&Row::op);
    add(&Row::variant);
    return words;
}

Panels curves(std::vector<Row> const& rows) {
    Panels panels;
    for (Row const& row : rows) {
        if (row.bytes == 0) continue;  // a barrier has no size
        std::string const call = title(row, rows);
        // "auto: ring" and "auto: tree" are one curve: the tuner's choice at each size.
        std::string const ours = "sinew " + split(row.algorithm, ':')[0] + call;
        panels.times[ours] += text(row.bytes, ' ', row.us.p50, '\n');
        for (PeerResult const& peer : row.peers) {
            std::string& times = panels.times[peer.name + call];
            std::string const point = text(row.bytes, ' ', peer.us.p50, '\n');
            // With several algorithms of sinew a peer has several rows per size: draw one.
            if (times.find(text('\n', row.bytes, ' ')) == std::string::npos &&
                !times.starts_with(text(row.bytes, ' ')))
                times += point;
            panels.ratios[peer.name + " / " + ours] += text(row.bytes, ' ', peer.ratio, '\n');
        }
    }
    return panels;
}

std::string heading(std::vector<Row> const& rows) {
    Row const& row = rows.front();
    auto const same = [&](Row const& other) { return other.collective == row.collective; };
    std::string const what =
        std::all_of(rows.begin(), rows.end(), same) ? row.collective : "collectives";
    return text(what, ", ", row.ranks, " ranks on ", row.nodes,
                row.nodes == 1 ? " node" : " nodes");
}

/// Puts marks at measured sizes, in the notation of the command line.
std::string size_axis(std::vector<Row> const& rows) {
    std::map<std::size_t, std::string> marks;
    for (Row const& row : rows)
        if (row.bytes > 0) marks.emplace(row.bytes, format_size(row.bytes));
    return marked_x_axis(marks);
}

}  // namespace

std::string plot_script(std::vector<Row> const& rows, std::string const& path) {
    Panels const panels = curves(rows);
    bool const with_ratios = !panels.ratios.empty();
    std::string script = plot_head(path, with_ratios ? 900 : 500);
    if (panels.times.empty())
        return script + "plot 0 title 'nothing that has a size was measured'\n";
    script += "set logscale y\n" + size_axis(rows);
    script += "set xlabel 'bytes'\nset ylabel 'time (us)'\n";
    script += "set title " + quoted(heading(rows)) + " noenhanced\n";
    if (with_ratios) script += "set multiplot layout 2,1\n";
    script += plot_curves(panels.times, "time");
    if (!with_ratios) return script;
    script += "unset title\nunset logscale y\nset yrange [0:*]\nset ylabel 'their time / ours'\n";
    script +=
        plot_curves(panels.ratios, "ratio", "1 with lines dashtype 2 linecolor 'black' notitle");
    return script + "unset multiplot\n";
}

}  // namespace sinew::bench
