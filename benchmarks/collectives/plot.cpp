// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/plot.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sinew/error.hpp>

#include "benchmarks/support/sizes.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

/// Curves by title; each is lines of "bytes value".
using Curves = std::map<std::string, std::string>;

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

std::string quoted(std::string const& words) {
    std::string result = "'";
    for (char const c : words) result += c == '\'' ? std::string("''") : std::string(1, c);
    return result + "'";
}

std::string heading(std::vector<Row> const& rows) {
    Row const& row = rows.front();
    auto const same = [&](Row const& other) { return other.collective == row.collective; };
    std::string const what =
        std::all_of(rows.begin(), rows.end(), same) ? row.collective : "collectives";
    return text(what, ", ", row.ranks, " ranks on ", row.nodes,
                row.nodes == 1 ? " node" : " nodes");
}

/// Puts marks at measured sizes, at most ten, in the notation of the command line.
std::string size_axis(std::vector<Row> const& rows) {
    std::set<std::size_t> sizes;
    for (Row const& row : rows)
        if (row.bytes > 0) sizes.insert(row.bytes);
    std::size_t const step = (sizes.size() + 9) / 10;
    std::vector<std::string> marks;
    std::size_t number = 0;
    for (std::size_t const size : sizes)
        if (number++ % step == 0) marks.push_back(text(quoted(format_size(size)), ' ', size));
    return text("set xtics (", join(marks), ")\nset xrange [",
                static_cast<double>(*sizes.begin()) / 1.5, ':',
                static_cast<double>(*sizes.rbegin()) * 1.5, "]\n");
}

std::string panel(Curves const& curves, std::string const& name, std::string const& extra) {
    std::string data, command = extra;
    int number = 0;
    for (auto const& [title, points] : curves) {
        std::string const block = text('$', name, number++);
        data += text(block, " << EOD\n", points, "EOD\n");
        command += text(command.empty() ? "" : ", ", block, " using 1:2 with linespoints title ",
                        quoted(title));
    }
    return data + "plot " + command + "\n";
}

bool executable_in_path(char const* program) {
    char const* const path = std::getenv("PATH");
    for (std::string const& folder : split(path ? path : "/usr/bin:/bin", ':'))
        if (::access(text(folder, '/', program).c_str(), X_OK) == 0) return true;
    return false;
}

}  // namespace

void require_gnuplot() {
    if (!executable_in_path("gnuplot"))
        throw Unavailable(
            "--plot (there is no gnuplot in PATH). Install it (Debian: apt-get install "
            "gnuplot-nox), or use --json and draw elsewhere");
}

std::string plot_script(std::vector<Row> const& rows, std::string const& path) {
    Panels const panels = curves(rows);
    bool const with_ratios = !panels.ratios.empty();
    std::string script = text("set terminal svg size 900,", with_ratios ? 900 : 500,
                              " background 'white'\nset output ", quoted(path), '\n');
    if (panels.times.empty())
        return script + "plot 0 title 'nothing that has a size was measured'\n";
    script += "set key left top noenhanced\nset grid\n";
    script += "set logscale x 2\nset logscale y\n" + size_axis(rows);
    script += "set xlabel 'bytes'\nset ylabel 'time (us)'\n";
    script += "set title " + quoted(heading(rows)) + " noenhanced\n";
    if (with_ratios) script += "set multiplot layout 2,1\n";
    script += panel(panels.times, "time", "");
    if (!with_ratios) return script;
    script += "unset title\nunset logscale y\nset yrange [0:*]\nset ylabel 'their time / ours'\n";
    script += panel(panels.ratios, "ratio", "1 with lines dashtype 2 linecolor 'black' notitle");
    return script + "unset multiplot\n";
}

void plot(std::vector<Row> const& rows, std::string const& path) {
    std::string const script = plot_script(rows, path);
    auto const previous = std::signal(SIGPIPE, SIG_IGN);  // a failure of gnuplot shows in pclose
    FILE* const gnuplot = ::popen("gnuplot", "we");
    if (gnuplot == nullptr)
        throw SystemError("gnuplot could not be started. Leave --plot out", errno);
    bool const sent = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
    int const status = ::pclose(gnuplot);
    std::signal(SIGPIPE, previous);
    if (!sent || status != 0)
        throw SystemError(text("gnuplot could not draw ", path, " (its status is ", status,
                               "; its messages are above). Is the folder writable?"),
                          EIO);
}

}  // namespace sinew::bench
