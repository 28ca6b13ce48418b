// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/plot.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sinew/error.hpp>
#include <sstream>
#include <string>
#include <system_error>

namespace sgd_digits {
namespace {

bool in_path(std::string const& program) {
    char const* const path = std::getenv("PATH");
    std::istringstream folders(path ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
    return false;
}

/// In gnuplot's single quotes only the quote itself is special.
std::string quoted(std::string const& text) {
    std::string result = "'";
    for (char const c : text) result += c == '\'' ? "''" : c == '\n' ? " " : std::string(1, c);
    return result + "'";
}

std::string script(std::string const& file, std::string const& title,
                   std::span<Epoch const> epochs) {
    std::ostringstream text;
    text << "set terminal svg size 800,480 background 'white'\n"
         << "set output " << quoted(file) << "\nset title " << quoted(title) << " noenhanced\n"
         << "set xlabel 'epoch'\nset ylabel 'loss'\nset y2label 'test accuracy (%)'\n"
         << "set yrange [0:*]\nset ytics nomirror\nset y2tics\nset grid\nset key center right\n"
         << "$epochs << END\n";
    for (std::size_t i = 0; i < epochs.size(); ++i)
        text << i + 1 << ' ' << epochs[i].loss << ' ' << 100 * epochs[i].accuracy << '\n';
    text << "END\nplot $epochs using 1:2 with linespoints title 'loss', "
         << "$epochs using 1:3 axes x1y2 with linespoints title 'test accuracy'\n";
    return text.str();
}

}  // namespace

void check_plot(std::string const& file) {
    if (!in_path("gnuplot"))
        throw sinew::Unavailable(
            "--plot needs gnuplot, which is not in PATH. Install it (Debian: "
            "apt-get install gnuplot-nox), or leave --plot out.");
    if (std::ofstream(file, std::ios::app)) return;
    int const error = errno;
    throw sinew::SystemError("--plot " + file + ": cannot be written (" +
                                 std::generic_category().message(error) + "). Choose another file.",
                             error);
}

void plot(std::string const& file, std::string const& title, std::span<Epoch const> epochs) {
    std::signal(SIGPIPE, SIG_IGN);  // the status below shows if gnuplot ended early
    std::FILE* const gnuplot = popen("gnuplot", "w");
    if (!gnuplot) throw sinew::SystemError("gnuplot could not be started.", errno);
    std::fputs(script(file, title, epochs).c_str(), gnuplot);
    int const status = pclose(gnuplot);
    if (status != 0)
        throw sinew::Unavailable("gnuplot could not draw " + file + " (status " +
                                 std::to_string(status) + "; its messages are above).");
}

}  // namespace sgd_digits
