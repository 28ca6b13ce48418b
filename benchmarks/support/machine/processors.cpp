// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/processors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

constexpr std::size_t words = sizeof(cpu_set_t) / sizeof(std::uint64_t);
using Mask = std::array<std::uint64_t, words>;

/// The data that each rank sends to the others.
struct Place {
    std::uint64_t machine = 0;
    Mask allowed{};
};

Place here() {
    Place place;
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        place.allowed = std::bit_cast<Mask>(allowed);
    std::string boot_id;  // of the running kernel: the same in all its containers
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
    place.machine = std::hash<std::string>()(boot_id);
    return place;
}

std::vector<int> processors_in(Mask const& mask) {
    std::vector<int> processors;
    for (int i = 0; i < static_cast<int>(64 * words); ++i)
        if (mask[static_cast<std::size_t>(i) / 64] >> (i % 64) & 1) processors.push_back(i);
    return processors;
}

/// Returns the lowest processor of the same core, or `processor` if that is unknown.
int first_of_core(int processor) {
    std::ifstream file(
        text("/sys/devices/system/cpu/cpu", processor, "/topology/thread_siblings_list"));
    int first = processor;
    return file >> first ? first : processor;
}

}  // namespace

std::vector<int> cores_first(std::vector<int> const& processors) {
    std::vector<int> ordered, rest, seen;
    auto const new_core = [&](int processor) {
        int const core = first_of_core(processor);
        if (std::find(seen.begin(), seen.end(), core) != seen.end()) return false;
        seen.push_back(core);
        return true;
    };
    for (int const processor : processors)
        (new_core(processor) ? ordered : rest).push_back(processor);
    ordered.insert(ordered.end(), rest.begin(), rest.end());
    return ordered;
}

Processors look_up_processors(Communicator& comm) {
    Place const mine = here();
    std::vector<Place> all(static_cast<std::size_t>(comm.size()));
    comm.allgather(std::span(&mine, 1), all);

    Processors result;
    for (Place const& machine : all) {
        Mask together{};
        std::size_t ranks = 0;
        for (Place const& place : all) {
            if (place.machine != machine.machine) continue;
            ++ranks;
            for (std::size_t i = 0; i < words; ++i) together[i] |= place.allowed[i];
        }
        std::size_t const processors = processors_in(together).size();
        if (processors > 0 && ranks > processors) result.oversubscribed = true;
        if (machine.machine == mine.machine) result.on_machine = static_cast<int>(processors);
    }
    std::size_t before = 0;
    bool alike = true;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank].machine != mine.machine) continue;
        if (static_cast<int>(rank) < comm.rank()) ++before;
        alike = alike && all[rank].allowed == mine.allowed;
    }
    auto const ordered = cores_first(processors_in(mine.allowed));
    if (!result.oversubscribed && alike && before < ordered.size()) result.own = ordered[before];
    return result;
}

Pinned::Pinned(std::optional<int> processor) {
    cpu_set_t before, wanted;
    if (!processor || ::sched_getaffinity(0, sizeof before, &before) != 0) return;
    CPU_ZERO(&wanted);
    CPU_SET(static_cast<std::size_t>(*processor), &wanted);
    if (::sched_setaffinity(0, sizeof wanted, &wanted) == 0) before_ = before;
}

Pinned::~Pinned() {
    if (before_) ::sched_setaffinity(0, sizeof *before_, &*before_);
}

}  // namespace sinew::bench
