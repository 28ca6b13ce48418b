// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/pool/ours.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <ranges>
#include <sinew/error.hpp>
#include <sinew/pool.hpp>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

int noop(int x) { return x; }

int nap(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return milliseconds;
}

int length(std::string const& bytes) { return static_cast<int>(bytes.size()); }

auto numbers(std::uint64_t size) { return sinew::range(0, static_cast<int>(size)); }

void expect(bool right, Case const& what) {
    if (!right) throw Error(text(what.name, ": a result is wrong"));
}

double noop_map(Pool& pool, Case const& what, std::uint64_t size) {
    Stopwatch const time;
    auto const results = pool.map<noop>(numbers(size));
    double const seconds = time.seconds();
    expect(std::ranges::equal(results, numbers(size)), what);
    return seconds;
}

double noop_single(Pool& pool, Case const& what, std::uint64_t size) {
    std::uint64_t count = 0, sum = 0;
    Stopwatch const time;
    for (int const result : pool.with({.chunk = 1}).imap_unordered<noop>(numbers(size))) {
        ++count;
        sum += static_cast<std::uint64_t>(result);
    }
    double const seconds = time.seconds();
    expect(count == size && sum == size * (size - 1) / 2, what);
    return seconds;
}

double apply(Pool& pool, Case const& what, std::uint64_t size) {
    bool right = true;
    Stopwatch const time;
    for (int const i : numbers(size)) right = pool.apply<noop>(i) == i && right;
    double const seconds = time.seconds();
    expect(right, what);
    return seconds;
}

double lockstep(Pool& pool, Case const& what, std::uint64_t size) {
    constexpr std::uint64_t width = 5;
    std::array<std::optional<AsyncResult<int>>, width> results;
    bool right = true;
    Stopwatch const time;
    for (std::uint64_t begun = 0; begun < size; begun += width) {
        for (auto& each : results) each = pool.apply_async<nap>(1);
        for (auto& each : results) right = each->get() == 1 && right;
    }
    double const seconds = time.seconds();
    expect(right, what);
    return seconds;
}

double naps(Pool& pool, Case const& what, std::uint64_t size) {
    std::vector<int> lengths(size, 1);
    if (what.name == "skew") lengths[size / 2] = 100;
    Stopwatch const time;
    auto const results = pool.map<nap>(lengths);
    double const seconds = time.seconds();
    expect(results == lengths, what);
    return seconds;
}

double blocks(Pool& pool, Case const& what, std::uint64_t size) {
    constexpr std::uint64_t at_once = 256;  // 16 MiB
    std::vector<std::string> const arguments(std::min(size, at_once), std::string(65536, 'x'));
    std::uint64_t total = 0;
    Stopwatch const time;
    for (std::uint64_t first = 0; first < size; first += at_once) {
        std::span const some(arguments.data(), std::min(arguments.size(), size - first));
        for (int const each : pool.map<length>(some)) total += static_cast<std::uint64_t>(each);
    }
    double const seconds = time.seconds();
    expect(total == size * 65536, what);
    return seconds;
}

using Body = double (*)(Pool&, Case const&, std::uint64_t);

Body body_of(std::string_view name) {
    if (name == "noop-map") return noop_map;
    if (name == "noop-single") return noop_single;
    if (name == "apply") return apply;
    if (name == "fiber-lockstep") return lockstep;
    if (name == "args-64k") return blocks;
    return naps;
}

class PoolCase final : public Contestant {
public:
    PoolCase(Case const& what, int workers) : case_(what), pool_(workers, quiet()) {
        if (!pool_.wait_until_workers_up()) throw Timeout("our workers are not up after 60 s");
        pool_.map<noop>(numbers(1000));
    }
    double cost(std::uint64_t size) override { return body_of(case_.name)(pool_, case_, size); }

private:
    Case const& case_;
    Pool pool_;
};

}  // namespace

std::unique_ptr<Contestant> make_pool_case(Case const& what, int workers) {
    return std::make_unique<PoolCase>(what, workers);
}

std::unique_ptr<Contestant> make_ours(Case const& what, int workers) {
    if (what.name == "kill-100ms") return make_kill_case(workers, true);
    if (what.name.starts_with("kill-")) return make_kill_time_case(what, workers);
    if (what.name == "queue") return make_queue_case();
    if (what.name == "pipe") return make_pipe_case();
    if (what.name.starts_with("master-")) return make_master_case(workers, what.unit == "B");
    return make_pool_case(what, workers);
}

}  // namespace sinew::bench
