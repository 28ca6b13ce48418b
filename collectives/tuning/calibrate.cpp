// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/calibrate.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/reducer.hpp"
#include "collectives/schedule/lent_buffer.hpp"
#include "collectives/schedule/scratch.hpp"

namespace sinew::collectives {

namespace {

using Clock = std::chrono::steady_clock;

/// Seconds. Once a size takes longer (a slow link), larger sizes are extrapolated.
constexpr double enough = 0.5e-3;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns rank 0's value on every rank.
template <class Plain>
Plain agreed(Channel& channel, Plain value) {
    LentBuffer<Plain> lent(channel, 1, value);
    auto const bytes = std::as_writable_bytes(std::span(*lent));
    if (channel.rank() != 0) channel.receive(0, bytes);
    else
        for (int r = 1; r < channel.size(); ++r) channel.send(r, bytes);
    return lent->front();
}

/// Returns one of the times of `repetitions` runs, after a run that connects and faults pages in.
/// With cores for all ranks it is the minimum, because the rest is noise of other programs.
/// Otherwise it is the lower quartile, since ranks that share cores usually have to wait.
template <class Run>
double typical_time(int repetitions, bool crowded, Run&& run) {
    run();
    std::vector<double> times;
    for (int i = 0; i < repetitions; ++i) {
        auto const start = Clock::now();
        run();
        times.push_back(seconds_since(start));
    }
    auto const at = times.begin() + (crowded ? repetitions / 4 : 0);
    std::nth_element(times.begin(), at, times.end());
    return *at;
}

/// k times as many bytes take about k times as long at most; a change of protocol may add to that.
double implausible(Model const& model, std::size_t i) {
    return 4 * model.seconds[i - 1] * static_cast<double>(Model::sizes[i]) /
           static_cast<double>(Model::sizes[i - 1]);
}

/// Measures the time of each size. All ranks use rank 0's times, to take the same branches.
void fit_exchanges(Channel& channel, Setting const& setting, Model& model) {
    int const next = (channel.rank() + 1) % channel.size();
    int const previous = (channel.rank() + channel.size() - 1) % channel.size();
    LentBuffer<std::byte> out(channel, Model::sizes.back()), in(channel, Model::sizes.back());
    double last = 1e-6;
    for (std::size_t i = 0; i < Model::sizes.size(); ++i) {
        std::size_t const bytes = Model::sizes[i];
        if (last > enough) {  // larger sizes take proportionally longer
            model.seconds[i] = model.seconds[i - 1] * static_cast<double>(bytes) /
                               static_cast<double>(Model::sizes[i - 1]);
            continue;
        }
        int const repetitions = std::clamp(static_cast<int>(enough / last), 3, 100);
        auto const measure = [&] {
            return agreed(channel, typical_time(repetitions, setting.crowded, [&] {
                              channel.exchange(next, std::span(*out).first(bytes), previous,
                                               std::span(*in).first(bytes));
                          }));
        };
        last = measure();
        // Probably another program had the core. Larger sizes may be extrapolated from this one.
        for (int again = 0; i > 0 && again < 4 && last > implausible(model, i); ++again)
            last = std::min(last, measure());
        model.seconds[i] = last;
    }
}

void fit_stream(Channel& channel, Setting const& setting, Model& model) {
    struct Cut {
        std::size_t segment;
        int window;
    };
    // Between nodes, segments stay below the eager limit of TCP transports (64 KiB), with a window
    // that hides a round trip. Within a node a message costs a hand-over, so larger ones may be
    // better.
    constexpr Cut network{16384, 16};
    constexpr Cut memory[] = {{32768, 8}, {131072, 4}, {524288, 2}};
    std::span<Cut const> const cuts =
        setting.across_nodes ? std::span(&network, 1) : std::span(memory);

    auto const others = static_cast<std::size_t>(channel.size() - 1);
    std::size_t const bytes =
        model.exchange(65536) > enough ? std::size_t{256} << 10 : std::size_t{2} << 20;
    std::size_t const block = bytes / others + 1;
    LentBuffer<std::byte> all(channel, block * (others + 1));
    Scratch scratch;
    Arguments gather;
    gather.scratch = &scratch;
    gather.out = all->data();
    gather.blocks = Blocks::equal(block, 1);
    double best = HUGE_VAL;
    for (Cut const& cut : cuts) {
        gather.segment = cut.segment;
        gather.window = cut.window;
        double const time = typical_time(3, false, [&] {
            ring_allgather(channel, gather);
            scratch.release();
        });
        if (time >= best) continue;
        best = time;
        model.segment = cut.segment;
        model.window = cut.window;
    }
    model.stream_per_byte = best / static_cast<double>(block * others);
}

double time_reduction() {
    constexpr std::size_t count = 16384;
    std::vector<float> a(count, 1.0F), b(count, 2.0F);
    Reducer const add(sum, DataType::Kind::f32);
    double const time =
        typical_time(5, false, [&] { add.combine(a.data(), a.data(), b.data(), count); });
    return time / static_cast<double>(count * sizeof(float));
}

}  // namespace

Model calibrate(Channel& channel, Setting const& setting) {
    Model model, again;
    fit_exchanges(channel, setting, model);
    fit_stream(channel, setting, model);
    // It measures twice, some ms apart, because another program may have had the core.
    fit_exchanges(channel, setting, again);
    for (std::size_t i = 0; i < Model::sizes.size(); ++i)
        model.seconds[i] = std::min(model.seconds[i], again.seconds[i]);
    model.reduce_per_byte = time_reduction();
    return agreed(channel, model);
}

}  // namespace sinew::collectives
