// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <iomanip>
#include <sstream>

#include "src/base/text.hpp"
#include "src/pool/master/master.hpp"

namespace sinew::pool {
namespace {

constexpr auto period = std::chrono::milliseconds(200);
constexpr auto patience = std::chrono::seconds(1);  // shorter work shows no line

std::string time_text(double seconds) {
    if (seconds < 60) return text(std::fixed, std::setprecision(0), seconds, " s");
    auto const minutes = static_cast<long>(seconds) / 60;
    if (minutes < 60) return text(minutes, " min ", static_cast<long>(seconds) % 60, " s");
    return text(minutes / 60, " h ", minutes % 60, " min");
}

}  // namespace

// Called when work begins and when all of it has ended.
void Master::show_progress() {
    bool const wanted = options_.progress == Progress::on ||
                        (options_.progress == Progress::automatic && ::isatty(STDERR_FILENO) != 0);
    if (!wanted) return;
    if (jobs_.empty() && line_shown_) {
        show_line();
        std::fputs("\n", stderr);
        line_shown_ = false;
        progress_timer_ = {};
        return;
    }
    if (progress_timer_) return;
    began_ = std::chrono::steady_clock::now();
    before_ = scheduler_.stats();
    progress_timer_ = runtime_.loop().every(period, [this] {
        if (!jobs_.empty() && std::chrono::steady_clock::now() - began_ > patience) show_line();
    });
}

// Prints the line by one write, so that the output of workers does not split it.
void Master::show_line() {
    auto const& now = scheduler_.stats();
    auto const done =
        now.done + now.failed + now.dropped - (before_.done + before_.failed + before_.dropped);
    auto const total = now.submitted - (before_.done + before_.failed + before_.dropped);
    std::chrono::duration<double> const elapsed = std::chrono::steady_clock::now() - began_;
    double const rate = static_cast<double>(done) / elapsed.count();
    std::ostringstream line;
    line << "\r\033[Ksinew: " << done << "/" << total << " tasks, " << std::setprecision(3) << rate
         << "/s";
    if (rate > 0 && done < total)
        line << ", " << time_text(static_cast<double>(total - done) / rate) << " left";
    if (auto const retried = now.retried - before_.retried) line << ", " << retried << " retried";
    line << ", " << now.ready << "/" << now.workers << " workers";
    std::fputs(line.str().c_str(), stderr);
    line_shown_ = true;
}

}  // namespace sinew::pool
