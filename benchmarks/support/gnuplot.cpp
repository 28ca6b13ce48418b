// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/gnuplot.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sinew/error.hpp>
#include <vector>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

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

std::string quoted(std::string const& words) {
    std::string result = "'";
    for (char const c : words) result += c == '\'' ? std::string("''") : std::string(1, c);
    return result + "'";
}

std::string plot_head(std::string const& path, int height) {
    return text("set terminal svg size 900,", height, " background 'white'\nset output ",
                quoted(path), "\nset key left top noenhanced\nset grid\n");
}

std::string marked_x_axis(std::map<std::size_t, std::string> const& marks) {
    std::size_t const step = (marks.size() + 9) / 10;
    std::vector<std::string> shown;
    std::size_t number = 0;
    for (auto const& [value, label] : marks)
        if (number++ % step == 0) shown.push_back(text(quoted(label), ' ', value));
    return text("set logscale x 2\nset xtics (", join(shown), ")\nset xrange [",
                static_cast<double>(marks.begin()->first) / 1.5, ':',
                static_cast<double>(marks.rbegin()->first) * 1.5, "]\n");
}

std::string plot_curves(Curves const& curves, std::string const& name, std::string const& extra) {
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

void draw(std::string const& script, std::string const& path) {
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
