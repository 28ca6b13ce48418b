// SPDX-License-Identifier: Apache-2.0
#include "src/lease/allocation.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <sinew/error.hpp>

#include "src/base/system/processor_groups.hpp"
#include "src/base/text.hpp"
#include "src/lease/locks/layout.hpp"
#include "src/lease/memory_account.hpp"
#include "src/process/resources/cores.hpp"

namespace sinew::lease {
namespace {

bool is_among(std::vector<int> const& numbers, int number) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

ByteRange memory_of(Host const& host) {
    auto const begin = layout::memory.begin;
    return {begin, begin + static_cast<std::int64_t>(host.memory)};
}

/// The processors next to these GPUs, as far as the kernel knows them.
std::vector<int> cpus_near(std::vector<Gpu> const& gpus) {
    std::vector<int> near;
    for (auto const& gpu : gpus) {
        if (gpu.pci_address.empty()) continue;
        std::string list;
        std::getline(std::ifstream("/sys/bus/pci/devices/" + gpu.pci_address + "/local_cpulist"),
                     list);
        for (int const cpu : parse_cpu_list(list)) near.push_back(cpu);
    }
    return near;
}

/// Chooses close processors; those that are leased make their cores less attractive.
std::vector<int> choose(std::vector<int> const& all, std::vector<int> const& free,
                        std::size_t count) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int const number : all) CPU_SET(static_cast<std::size_t>(number), &set);
    auto places = process::locate(set);
    for (auto& place : places) place.users = is_among(free, place.number) ? 0 : 1;
    return process::choose_cpus(places, static_cast<int>(count));
}

}  // namespace

Allocation::Allocation(LockFile const& file, Host const& host, Needs const& needs)
    : file_(file), host_(host), needs_(needs) {
    if (needs.gpus > 0) agree_on_names();
}

void Allocation::agree_on_names() const {
    bool const by_uuid = host_.gpus.by_uuid;
    auto const& mine = by_uuid ? layout::by_uuid : layout::by_number;
    auto const& others = by_uuid ? layout::by_number : layout::by_uuid;
    if (file_.try_lock(mine, LockKind::shared) && !file_.lock_of_others(others)) return;
    throw Unavailable(text("GPUs are leased by ", by_uuid ? "number" : "UUID", " in ", file_.path(),
                           ", but this process knows their ", by_uuid ? "UUIDs" : "numbers only",
                           ", so that both could have the same one. Let all processes see NVML "
                           "(libnvidia-ml.so.1), or none"));
}

Gpu const& Allocation::gpu(int index) const {
    return *std::ranges::find(host_.gpus.gpus, index, &Gpu::index);
}

std::vector<Gpu> Allocation::gpus() const {
    std::vector<Gpu> found;
    for (int const index : gpus_) found.push_back(gpu(index));
    return found;
}

std::vector<int> Allocation::free_gpus() const {
    std::vector<int> free;
    for (auto const& gpu : host_.gpus.gpus)
        if (!file_.lock_of_others(host_.gpus.lock(gpu))) free.push_back(gpu.index);
    return free;
}

std::vector<int> Allocation::free_cpus() const {
    std::vector<int> free;
    for (int const number : host_.cpus)
        if (!file_.lock_of_others(layout::cpu(number))) free.push_back(number);
    return free;
}

// Those that it had before and no longer wants are free for others.
bool Allocation::lock_gpus(std::vector<int> const& indices) {
    for (int const index : gpus_)
        if (!is_among(indices, index)) file_.unlock(host_.gpus.lock(gpu(index)));
    gpus_.clear();
    for (int const index : indices)
        if (file_.try_lock(host_.gpus.lock(gpu(index)))) gpus_.push_back(index);
    return gpus_.size() == indices.size();
}

bool Allocation::lock_cpus(std::vector<int> const& free) {
    if (needs_.cpus == 0) return true;
    std::vector<int> near;
    for (int const number : cpus_near(gpus()))
        if (is_among(free, number) && !is_among(near, number)) near.push_back(number);
    cpus_ = choose(host_.cpus, near.size() >= needs_.cpus ? near : free, needs_.cpus);
    std::vector<ByteRange> locks;
    for (int const number : cpus_) locks.push_back(layout::cpu(number));
    return lock_all(locks);
}

bool Allocation::lock_all(std::vector<ByteRange> const& locks) const {
    for (auto const& lock : locks) {
        if (file_.try_lock(lock)) continue;
        for (auto const& each : locks) file_.unlock(each);
        return false;
    }
    return true;
}

bool Allocation::try_complete() {
    auto const gpus = needs_.gpus > 0 ? free_gpus() : std::vector<int>();
    auto const cpus = needs_.cpus > 0 ? free_cpus() : std::vector<int>();
    auto const memory =
        needs_.memory > 0 ? free_parts(file_, memory_of(host_)) : std::vector<ByteRange>();
    if (gpus.size() < needs_.gpus || cpus.size() < needs_.cpus || total(memory) < needs_.memory) {
        lock_gpus(gpus.size() > needs_.gpus ? gpus_ : gpus);
        return false;
    }
    if (!lock_gpus(choose_gpus(host_.gpus.connections, gpus, gpus_, needs_.gpus))) return false;
    return lock_cpus(cpus) && lock_all(take_from(memory, needs_.memory));
}

std::string Allocation::shortage() const {
    std::string words;
    auto const add = [&](auto free, auto all, char const* what) {
        words += text(words.empty() ? "" : ", ", free, " of ", all, ' ', what,
                      free == 1 ? " is free" : " are free");
    };
    if (needs_.gpus > 0) add(free_gpus().size(), host_.gpus.gpus.size(), "GPUs");
    if (needs_.cpus > 0) add(free_cpus().size(), host_.cpus.size(), "processors");
    if (needs_.memory > 0)
        add(total(free_parts(file_, memory_of(host_))), host_.memory, "bytes of memory");
    return words;
}

}  // namespace sinew::lease
