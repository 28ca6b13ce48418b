// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/progress_line.hpp"

#include <unistd.h>

#include <cstdio>
#include <iomanip>
#include <sstream>
#include <utility>

#include "src/base/text.hpp"

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

ProgressLine::ProgressLine(wire::Loop& loop, Progress wish, Scheduler const& scheduler,
                           std::function<std::string()> note)
    : loop_(loop), scheduler_(scheduler), note_(std::move(note)),
      wanted_(wish == Progress::on ||
              (wish == Progress::automatic && ::isatty(STDERR_FILENO) != 0)) {}

void ProgressLine::begin() {
    if (!wanted_ || std::exchange(working_, true)) return;
    began_ = std::chrono::steady_clock::now();
    before_ = scheduler_.stats();
    if (!timer_)
        timer_ = loop_.every(period, [this] {
            if (working_ && std::chrono::steady_clock::now() - began_ > patience) show();
        });
}

void ProgressLine::end() {
    working_ = false;
    if (!shown_) return;
    show();
    std::fputs("\n", stderr);
    stop();
}

void ProgressLine::stop() {
    shown_ = false;
    timer_ = {};
}

// Prints the line by one write, so that the output of workers does not split it.
void ProgressLine::show() {
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
    if (auto const note = now.workers == 0 ? note_() : ""; !note.empty()) line << ", " << note;
    std::fputs(line.str().c_str(), stderr);
    shown_ = true;
}

}  // namespace sinew::pool
