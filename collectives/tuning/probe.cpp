// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/probe.hpp"

#include <algorithm>
#include <chrono>

#include "collectives/algorithms.hpp"
#include "collectives/schedule/lent_buffer.hpp"
#include "collectives/schedule/ring_stream.hpp"
#include "collectives/schedule/transfers.hpp"

namespace sinew::collectives {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// In step 0 own bytes are sent, in step 1 those that arrived in step 0.
class StreamPlace {
public:
    StreamPlace(std::byte* own, std::byte* received, std::size_t block, std::size_t segment)
        : own_(own), received_(received), block_(block), segments_(block, segment, 1) {}

    std::size_t segments() const { return segments_.count(); }
    std::span<std::byte const> outgoing(int step, std::size_t segment) const {
        return part(step == 0 ? own_ : received_, segment);
    }
    std::span<std::byte> landing(int step, std::size_t segment, int) const {
        return part(step == 0 ? received_ : own_, segment);
    }
    void arrived(int, std::size_t, int) const {}

private:
    std::span<std::byte> part(std::byte* data, std::size_t segment) const {
        ChunkRange const range = segments_.of({0, block_}, segment);
        return {data + range.offset, range.bytes};
    }

    std::byte* own_;
    std::byte* received_;
    std::size_t block_;
    Segments segments_;
};

}  // namespace

double agreed(Channel& channel, double value, int root) {
    LentBuffer<double> lent(channel, 1, value);
    Scratch scratch;
    Arguments call;
    call.out = reinterpret_cast<std::byte*>(lent->data());
    call.count = 1;
    call.element = sizeof(double);
    call.root = root;
    call.scratch = &scratch;
    binomial_broadcast(channel, call);
    return lent->front();
}

Probe::Probe(Channel& channel, std::vector<int> ring, int clock, bool crowded)
    : channel_(channel), ring_(std::move(ring)), clock_(clock), crowded_(crowded) {
    auto const self = std::find(ring_.begin(), ring_.end(), channel.rank());
    if (self != ring_.end()) position_ = static_cast<int>(self - ring_.begin());
    if (ring_.size() < 2) position_ = -1;
}

int Probe::at(int away) const {
    int const count = members();
    return ring_[static_cast<std::size_t>(((position_ + away) % count + count) % count)];
}

/// Runs it once to connect and fault pages in. With cores for all ranks the minimum is typical,
/// because the rest is noise of other programs. Otherwise it is the lower quartile, since ranks
/// that share cores usually have to wait.
template <class Run>
double Probe::typical(int repetitions, Run run) {
    double typical = 0;
    if (position_ >= 0) {
        run();
        std::vector<double> times;
        for (int i = 0; i < repetitions; ++i) {
            auto const start = Clock::now();
            run();
            times.push_back(seconds_since(start));
        }
        auto const at = times.begin() + (crowded_ ? repetitions / 4 : 0);
        std::nth_element(times.begin(), at, times.end());
        typical = *at;
    }
    return agreed(channel_, typical, clock_);
}

double Probe::exchange(std::size_t bytes, int repetitions) { return burst(1, bytes, repetitions); }

double Probe::burst(int partners, std::size_t bytes, int repetitions) {
    auto const all = static_cast<std::size_t>(partners) * bytes;
    LentBuffer<std::byte> out(channel_, bytes), in(channel_, position_ >= 0 ? all : 0);
    Scratch scratch;
    return typical(repetitions, [&] {
        scratch.release();
        Transfers sending(scratch, static_cast<std::size_t>(partners)),
            receiving(scratch, static_cast<std::size_t>(partners));
        for (int away = 1; away <= partners; ++away) {
            auto const slot = static_cast<std::size_t>(away - 1);
            receiving[slot] =
                channel_.start_receive(at(-away), std::span(*in).subspan(slot * bytes, bytes));
            sending[slot] = channel_.start_send(at(away), *out);
        }
        receiving.wait();
        sending.wait();
    });
}

double Probe::stream(std::size_t bytes, std::size_t segment, int window, int repetitions) {
    std::size_t const block = bytes / 2;
    LentBuffer<std::byte> own(channel_, block), received(channel_, block);
    Scratch scratch;
    return typical(repetitions, [&] {
        scratch.release();
        StreamPlace place(own->data(), received->data(), block, segment);
        // A received segment overwrites the one that was sent a step earlier.
        RingStream(channel_, {.next = at(1), .previous = at(-1)}, scratch, place, 2,
                   place.segments(), window, place.segments())
            .run();
    });
}

}  // namespace sinew::collectives
