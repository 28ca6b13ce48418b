// SPDX-License-Identifier: Apache-2.0
#include "src/base/waiting/wake_up.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <sinew/error.hpp>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

#include "src/base/cache_file.hpp"
#include "src/base/env.hpp"
#include "src/base/system/allowed_cpus.hpp"
#include "src/base/system/cgroup.hpp"
#include "src/base/system/signals_blocked.hpp"
#include "src/base/system/this_host.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// A value outside this range reflects other load at the time rather than the machine.
constexpr nanoseconds least_wake_up = 500ns, most_wake_up = 1ms;
// Typical of recent virtual and physical machines.
constexpr nanoseconds assumed_wake_up = 20us;
// Values expire because other users of the hardware and clock rates change.
constexpr std::int64_t seconds_kept = 24 * 60 * 60;
constexpr int most_round_trips = 24, least_round_trips = 8;
constexpr auto time_to_measure = 3ms;
constexpr eventfd_t stop_word = 1000;

void stay_on(int processor) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    ::sched_setaffinity(0, sizeof only, &only);  // if it fails, the scheduler chooses
}

// Returns false if no word arrives in time. Waits as event loops do: polls first, then reads.
bool read_before(int fd, Clock::time_point deadline) {
    auto const left = std::max(nanoseconds(0), nanoseconds(deadline - Clock::now()));
    timespec const limit{0, static_cast<long>(std::min<nanoseconds>(left, 999ms).count())};
    pollfd one{fd, POLLIN, 0};
    eventfd_t word = 0;
    return ::ppoll(&one, 1, &limit, nullptr) == 1 && ::eventfd_read(fd, &word) == 0;
}

// Answers each word until it receives stop_word.
void answer_words(int from, int to, int processor) {
    stay_on(processor);
    for (eventfd_t word = 0; word < stop_word;) {
        pollfd one{from, POLLIN, 0};
        if (::poll(&one, 1, -1) < 0 && errno != EINTR) return;
        if (::eventfd_read(from, &word) == 0) ::eventfd_write(to, 1);
    }
}

std::vector<nanoseconds> round_trips(int there, int back, int processor) {
    stay_on(processor);
    std::vector<nanoseconds> times;
    auto const deadline = Clock::now() + time_to_measure;
    for (int i = 0; i < most_round_trips; ++i) {
        auto const began = Clock::now();
        ::eventfd_write(there, 1);
        if (!read_before(back, deadline)) break;
        times.push_back(Clock::now() - began);
    }
    ::eventfd_write(there, stop_word);
    return times;
}

}  // namespace

std::optional<nanoseconds> measure_wake_up() {
    auto const processors = allowed_cpus();
    if (processors.size() < 2) return std::nullopt;
    UniqueFd const there(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!there || !back) return std::nullopt;
    std::vector<nanoseconds> times;
    SignalsBlocked const blocked;  // the new threads must not run the program's signal handlers
    try {
        // New threads, because binding the calling thread would affect the program.
        std::thread answers([&] { answer_words(there.get(), back.get(), processors[1]); });
        try {
            std::thread asks([&] { times = round_trips(there.get(), back.get(), processors[0]); });
            asks.join();
        } catch (std::system_error const&) {
            ::eventfd_write(there.get(), stop_word);
        }
        answers.join();
    } catch (std::system_error const&) {
        return std::nullopt;  // no thread could be started
    }
    if (times.size() < least_round_trips) return std::nullopt;
    auto const middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    auto const one_way = *middle / 2;
    if (one_way < least_wake_up || one_way > most_wake_up) return std::nullopt;
    return one_way;
}

std::optional<nanoseconds> wake_up_from_text(std::string const& line, std::string const& boot,
                                             std::int64_t now) {
    std::istringstream words(line);
    std::int64_t cost = 0, since = 0;
    std::string of_boot;
    if (!(words >> cost >> of_boot >> since)) return std::nullopt;
    bool const fresh = of_boot == boot && since <= now && now - since < seconds_kept;
    if (!fresh || cost < least_wake_up.count() || cost > most_wake_up.count()) return std::nullopt;
    return nanoseconds(cost);
}

std::string wake_up_text(nanoseconds cost, std::string const& boot, std::int64_t now) {
    return text(cost.count(), ' ', boot, ' ', now);
}

std::string_view name_of(WakeUp::Source source) {
    switch (source) {
        case WakeUp::Source::told:
            return "told by SINEW_WAKE_UP";
        case WakeUp::Source::kept:
            return "measured earlier";
        case WakeUp::Source::measured:
            return "measured";
        case WakeUp::Source::assumed:
            break;
    }
    return "assumed";
}

namespace {

std::optional<nanoseconds> told_wake_up() {
    constexpr auto variable = "SINEW_WAKE_UP";
    if (!env(variable)) return std::nullopt;
    auto const told = env_duration(variable, assumed_wake_up);
    if (told <= most_wake_up) return told;
    throw UsageError(text(variable, "=", *env(variable),
                          " (the time of a wake-up must be at most 1ms). Unset it to have it "
                          "measured, or see sinew info"));
}

}  // namespace

WakeUp find_wake_up() {
    if (auto const told = told_wake_up()) return {*told, WakeUp::Source::told};
    auto const name = "wake-up-" + cache_word(host_name());
    auto boot = boot_id();
    if (boot.empty()) boot = "unknown";
    auto const now = static_cast<std::int64_t>(std::time(nullptr));
    if (auto const line = cached_line(name))
        if (auto const kept = wake_up_from_text(*line, boot, now))
            return {*kept, WakeUp::Source::kept};
    auto const measured = measure_wake_up();
    if (!measured) return {assumed_wake_up, WakeUp::Source::assumed};
    cache_line(name, wake_up_text(*measured, boot, now));
    return {*measured, WakeUp::Source::measured};
}

WakeUp const& wake_up() {
    static WakeUp const found = find_wake_up();
    return found;
}

bool may_spin(std::size_t processors, std::optional<double> quota) {
    return processors >= 2 && quota.value_or(2) >= 2;
}

bool may_spin() {
    return env_flag("SINEW_SPIN", true) && may_spin(allowed_cpus().size(), cgroup_quota());
}

void check_waiting_settings() {
    static_cast<void>(env_flag("SINEW_SPIN", true));
    static_cast<void>(told_wake_up());
}

SpinPolicy make_spin_policy() {
    static bool const may = may_spin();
    return may ? SpinPolicy(wake_up().cost) : SpinPolicy();
}

}  // namespace sinew
