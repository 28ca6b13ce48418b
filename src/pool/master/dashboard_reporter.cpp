// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/dashboard_reporter.hpp"

#include <charconv>
#include <string_view>
#include <utility>

#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::pool {
namespace {

constexpr auto period = std::chrono::milliseconds(250);
// A rate is computed from the last seconds: it falls to zero while equal lines come.
constexpr int most_repeats = 10;
constexpr std::size_t most_losses = 8;

std::uint64_t next_number() {
    static std::uint64_t number = 0;  // the guard is held
    return ++number;
}

std::optional<int> own_rank() {
    auto const words = env("SINEW_RANK");
    int rank = 0;
    if (!words) return std::nullopt;
    auto const end = words->data() + words->size();
    return std::from_chars(words->data(), end, rank).ptr == end && rank >= 0 ? std::optional(rank)
                                                                             : std::nullopt;
}

// A function's name for people.
std::string without_anonymous(std::string name) {
    constexpr std::string_view words = "(anonymous namespace)::";
    for (std::size_t at = 0; (at = name.find(words, at)) != std::string::npos;)
        name.erase(at, words.size());
    return name;
}

}  // namespace

DashboardReporter::DashboardReporter(wire::Loop& loop, Scheduler const& scheduler,
                                     std::function<Duration()> busy)
    : loop_(loop), scheduler_(scheduler), busy_(std::move(busy)) {}

void DashboardReporter::begin() {
    if (std::exchange(begun_, true)) return;
    channel_ = DashboardChannel::open(loop_);
    if (!channel_) return;
    figures_.number = next_number();
    figures_.rank = own_rank();
    timer_ = loop_.every(period, [this] { tick(); });
}

std::string DashboardReporter::line() const {
    auto figures = figures_;
    figures.counts = scheduler_.stats();
    figures.busy = busy_();
    return report_line(figures);
}

void DashboardReporter::tick() {
    if (channel_->over()) {
        timer_ = {};
        channel_ = nullptr;
        return;
    }
    if (!channel_->free()) return;
    auto now = line();
    quiet_ = now == sent_ ? quiet_ + 1 : 0;
    if (quiet_ > most_repeats) return;
    sent_ = now;
    channel_->send(std::move(now));
}

void DashboardReporter::worker_died(WorkerId worker, std::string const& why) {
    if (!on()) return;
    losing_ = true;
    figures_.losses.push_back({.time = std::chrono::system_clock::now(),
                               .worker = text("worker ", worker.slot),
                               .why = why.substr(0, why.find('\n')),
                               .tasks = {}});
    if (figures_.losses.size() > most_losses) figures_.losses.pop_front();
}

void DashboardReporter::task_lost(std::string function, std::uint64_t index, bool failed) {
    if (!losing_) return;
    auto& loss = figures_.losses.back();
    if (loss.tasks.size() < WorkerLoss::most_tasks)
        loss.tasks.push_back({without_anonymous(std::move(function)), index, failed});
    else ++loss.more;
}

void DashboardReporter::end() {
    if (!on()) return;
    timer_ = {};
    figures_.ended = true;
    channel_->send_last(line());
    channel_ = nullptr;
}

}  // namespace sinew::pool
