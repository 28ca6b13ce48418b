// SPDX-License-Identifier: Apache-2.0
#include "collectives/calibrate.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "collectives/reducer.hpp"

namespace sinew::collectives {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Median time of one exchange with the neighbours. `repetitions` is the same on all ranks.
double time_exchange(Channel& channel, std::span<std::byte const> out, std::span<std::byte> in, int repetitions) {
    int const next = (channel.rank() + 1) % channel.size();
    int const previous = (channel.rank() + channel.size() - 1) % channel.size();
    std::vector<double> times;
    channel.exchange(next, out, previous, in);  // connects, maps, faults in
    for (int i = 0; i < repetitions; ++i) {
        auto const start = Clock::now();
        channel.exchange(next, out, previous, in);
        times.push_back(seconds_since(start));
    }
    std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());
    return times[static_cast<std::size_t>(repetitions / 2)];
}

double time_reduction() {
    constexpr std::size_t count = 16384;
    std::vector<float> a(count, 1.0F), b(count, 2.0F);
    Reducer const add(sum, DataType::Kind::f32);
    add.combine(a.data(), a.data(), b.data(), count);
    auto const start = Clock::now();
    constexpr int repetitions = 5;
    for (int i = 0; i < repetitions; ++i) add.combine(a.data(), a.data(), b.data(), count);
    return seconds_since(start) / repetitions / static_cast<double>(count * sizeof(float));
}

/// Rank 0's numbers, everywhere.
void agree(Channel& channel, Model& model) {
    auto const bytes = std::as_writable_bytes(std::span(&model, 1));
    if (channel.rank() != 0) {
        channel.receive(0, bytes);
        return;
    }
    for (int r = 1; r < channel.size(); ++r) channel.send(r, bytes);
}

}  // namespace

Model calibrate(Channel& channel, bool across_nodes) {
    constexpr double budget = 0.5e-3;  // seconds for one size
    Model model;
    std::vector<std::byte> out(Model::sizes.back()), in(Model::sizes.back());
    double last = 0;
    for (std::size_t i = 0; i < Model::sizes.size(); ++i) {
        std::size_t const bytes = Model::sizes[i];
        if (last > budget) {  // a slow link: what is larger takes longer in proportion
            model.seconds[i] = model.seconds[i - 1] * static_cast<double>(bytes) / static_cast<double>(Model::sizes[i - 1]);
            continue;
        }
        int const repetitions = i < 4 ? 15 : i < 6 ? 7 : 3;
        double time = time_exchange(channel, std::span(out).first(bytes), std::span(in).first(bytes), repetitions);
        // Everyone must take the same branch above: go by rank 0's clock.
        auto const shared = std::as_writable_bytes(std::span(&time, 1));
        if (channel.rank() == 0)
            for (int r = 1; r < channel.size(); ++r) channel.send(r, shared);
        else channel.receive(0, shared);
        model.seconds[i] = last = time;
    }
    model.reduce_per_byte = time_reduction();
    // Between nodes: below the eager limit of TCP transports (64 KiB), deep enough to hide a round
    // trip. Within a node each message costs a hand-over, so fewer and larger ones.
    model.segment = across_nodes ? 16384 : 131072;
    model.window = across_nodes ? 16 : 4;
    agree(channel, model);
    return model;
}

}  // namespace sinew::collectives
