// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/plot.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sinew/error.hpp>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

/// One line of the plot: its title, and "bytes value" lines.
using Curves = std::map<std::string, std::string>;

struct Panels {
    Curves times, ratios;
};

/// "allreduce ring live f32", as far as the rows differ in it.
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
        // "auto: ring" is one curve with "auto: tree": what the tuner chose at each size.
        std::string const ours = "sinew " + split(row.algorithm, ':')[0] + call;
        panels.times[ours] += text(row.bytes, ' ', row.us.p50, '\n');
        for (PeerResult const& peer : row.peers) {
            std::string& times = panels.times[peer.name + call];
            std::string const point = text(row.bytes, ' ', peer.us.p50, '\n');
            // With several algorithms of ours a peer stands in several rows of one size: the first.
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
    std::string script =
        text("set terminal svg size 900,", with_ratios ? 900 : 500,
             " background 'white'\nset output ", quoted(path),
             "\nset datafile separator ' '\nset key left top noenhanced\nset grid\n"
             "set logscale xy\nset format x '%.0b%B'\nset xlabel 'bytes'\n"
             "set ylabel 'time (us)'\n");
    if (rows.empty() || panels.times.empty())
        return script + "set label 'nothing measured' at 1,1\n";
    if (with_ratios) script += "set multiplot layout 2,1\n";
    Row const& row = rows.front();
    script += text("set title ",
                   quoted(text(row.collective, ", ", row.dtype, ", ", row.ranks, " ranks on ",
                               row.nodes, row.nodes == 1 ? " node" : " nodes")),
                   " noenhanced\n");
    script += panel(panels.times, "time", "");
    if (with_ratios) {
        script +=
            "unset title\nunset logscale y\nset yrange [0:*]\n"
            "set ylabel 'their time / ours'\n";
        script +=
            panel(panels.ratios, "ratio", "1 with lines dashtype 2 linecolor 'black' notitle");
        script += "unset multiplot\n";
    }
    return script;
}

void plot(std::vector<Row> const& rows, std::string const& path) {
    std::string const script = plot_script(rows, path);
    auto const previous = std::signal(SIGPIPE, SIG_IGN);  // a gnuplot that dies shows in pclose
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
