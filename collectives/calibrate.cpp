// SPDX-License-Identifier: Apache-2.0
#include "collectives/calibrate.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "collectives/allgather/ring.hpp"
#include "collectives/reducer.hpp"

namespace sinew::collectives {

namespace {

using Clock = std::chrono::steady_clock;

/// Longer sizes of a series are not measured once one took this long: a slow link.
constexpr double enough = 0.5e-3;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Rank 0's value, everywhere.
template <class Plain>
Plain agreed(Channel& channel, Plain value) {
    auto const bytes = std::as_writable_bytes(std::span(&value, 1));
    if (channel.rank() != 0) channel.receive(0, bytes);
    else
        for (int r = 1; r < channel.size(); ++r) channel.send(r, bytes);
    return value;
}

/// The lower quartile of the times of `repetitions` runs, after one that connects and faults in: what
/// the machine can do, without the luck of the best.
template <class Run>
double quartile_time(int repetitions, Run&& run) {
    run();
    std::vector<double> times;
    for (int i = 0; i < repetitions; ++i) {
        auto const start = Clock::now();
        run();
        times.push_back(seconds_since(start));
    }
    auto const at = times.begin() + repetitions / 4;
    std::nth_element(times.begin(), at, times.end());
    return *at;
}

double time_exchange(Channel& channel, std::span<std::byte const> out, std::span<std::byte> in,
                     int repetitions) {
    int const next = (channel.rank() + 1) % channel.size();
    int const previous = (channel.rank() + channel.size() - 1) % channel.size();
    return quartile_time(repetitions, [&] { channel.exchange(next, out, previous, in); });
}

void fit_exchanges(Channel& channel, Model& model) {
    std::vector<std::byte> out(Model::sizes.back()), in(Model::sizes.back());
    double last = 1e-6;
    for (std::size_t i = 0; i < Model::sizes.size(); ++i) {
        std::size_t const bytes = Model::sizes[i];
        if (last > enough) {  // what is larger takes longer in proportion
            model.seconds[i] = model.seconds[i - 1] * static_cast<double>(bytes) /
                               static_cast<double>(Model::sizes[i - 1]);
            continue;
        }
        int const repetitions = std::clamp(static_cast<int>(enough / last), 3, 100);
        double const time = time_exchange(channel, std::span(out).first(bytes),
                                          std::span(in).first(bytes), repetitions);
        // Everyone must take the same branch above: go by rank 0's clock.
        model.seconds[i] = last = agreed(channel, time);
    }
}

/// Tries ways to cut a stream and keeps the fastest.
void fit_stream(Channel& channel, Model& model, bool across_nodes) {
    struct Cut {
        std::size_t segment;
        int window;
    };
    // Between nodes: below the eager limit of TCP transports (64 KiB), deep enough to hide a round
    // trip. Within a node each message costs a hand-over, so perhaps fewer and larger ones.
    constexpr Cut network{16384, 16};
    constexpr Cut memory[] = {{32768, 8}, {131072, 4}, {524288, 2}};
    std::span<Cut const> const cuts = across_nodes ? std::span(&network, 1) : std::span(memory);

    auto const others = static_cast<std::size_t>(channel.size() - 1);
    std::size_t const bytes = model.exchange(65536) > enough ? std::size_t{256} << 10 : std::size_t{2} << 20;
    std::size_t const block = bytes / others + 1;
    std::vector<std::byte> all(block * (others + 1));
    Arguments gather;
    gather.out = all.data();
    gather.blocks = Blocks::equal(block, 1);
    double best = HUGE_VAL;
    for (Cut const& cut : cuts) {
        gather.segment = cut.segment;
        gather.window = cut.window;
        double const time = quartile_time(3, [&] { ring_allgather(channel, gather); });
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
    double const time = quartile_time(5, [&] { add.combine(a.data(), a.data(), b.data(), count); });
    return time / static_cast<double>(count * sizeof(float));
}

}  // namespace

Model calibrate(Channel& channel, bool across_nodes) {
    Model model;
    fit_exchanges(channel, model);
    fit_stream(channel, model, across_nodes);
    model.reduce_per_byte = time_reduction();
    return agreed(channel, model);
}

}  // namespace sinew::collectives
