// SPDX-License-Identifier: Apache-2.0
#include "src/process/resources/reservation.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/gpus/gpus.hpp"
#include "src/base/system/allowed_cpus.hpp"
#include "src/base/system/cgroup.hpp"
#include "src/base/system/io.hpp"
#include "src/base/system/resident.hpp"
#include "src/base/text.hpp"
#include "src/process/resources/cores.hpp"
#include "src/process/runtime.hpp"

namespace sinew::process {
namespace {

constexpr auto between_looks = std::chrono::milliseconds(100);
constexpr int most_looks = 100;
constexpr std::size_t least_memory = 16;

std::uint64_t mib(std::uint64_t bytes) { return bytes >> 20; }

/// What all reservations of this process hold. Requires: runtime's guard held.
struct Ledger {
    std::map<int, int> users;  ///< by processor
    std::vector<std::unique_ptr<MemoryGroup>> left;
    wire::Loop::Handle looking;
    int looks = 0;

    static Ledger& instance() {
        static Ledger* const ledger = new Ledger;
        return *ledger;
    }
    bool remove_left() {
        std::erase_if(left, [](auto const& group) { return group->remove(); });
        return left.empty();
    }
    // Processes that the child has forked may stay in the group, briefly or for good.
    void leave(std::unique_ptr<MemoryGroup> group) {
        left.push_back(std::move(group));
        if (remove_left()) return;
        looks = 0;
        looking = Runtime::instance().loop().every(between_looks, [this] {
            if (remove_left() || ++looks == most_looks) looking = {};
        });
    }
};

// Returns the affinity of the main thread: that of the calling thread may be smaller.
cpu_set_t own_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(::getpid(), sizeof set, &set) != 0)
        throw_errno("the processors of this process are not known", "Leave Meta::cpu at 0");
    return set;
}

std::string list(cpu_set_t const& set) {
    std::vector<int> numbers;
    for (int number = 0; number < CPU_SETSIZE; ++number)
        if (CPU_ISSET(number, &set)) numbers.push_back(number);
    return cpu_list(numbers);
}

std::string joined(std::vector<std::string> const& words) {
    std::string all;
    for (auto const& word : words) all += (all.empty() ? "" : ",") + word;
    return all;
}

char const* plural(std::uint64_t count) { return count == 1 ? "" : "s"; }

void require_cores(Meta const& wish, std::string const& who,
                   std::optional<cpu_set_t> const& among) {
    if (wish.cpu == 0) return;
    auto const set = among ? *among : own_cpus();
    auto const quota = cgroup_quota();
    int const there = CPU_COUNT(&set);
    int const granted = quota ? static_cast<int>(std::ceil(*quota)) : there;
    if (wish.cpu <= std::min(there, granted)) return;
    throw UsageError(text(who, " needs ", wish.cpu, " core",
                          plural(static_cast<std::uint64_t>(wish.cpu)), ", but this host provides ",
                          std::min(there, granted), " (cpuset ", list(set),
                          granted < there ? text(", of whose time the cgroup grants ", *quota) : "",
                          "). Ask for fewer (Meta::cpu), or give this process more"));
}

void require_memory(Meta const& wish, std::string const& who) {
    if (wish.memory_mib == 0) return;
    // With less, the kernel may be unable to start the child; and until exec the child shares its
    // parent's memory, so that both would be killed.
    if (wish.memory_mib < least_memory)
        throw UsageError(text(who, " needs ", wish.memory_mib, " MiB of memory (at least ",
                              least_memory, ", which a process needs to start)"));
    auto const bounds = memory_bounds();
    auto const most = mib(bounds.cgroup.value_or(bounds.host));
    if (most == 0 || wish.memory_mib <= most) return;
    throw UsageError(text(who, " needs ", wish.memory_mib,
                          " MiB of memory, but this host provides ", most, " (it has ",
                          mib(bounds.host), bounds.cgroup ? ", our cgroup is limited" : "",
                          "). Ask for less (Meta::memory_mib), or give this process more"));
}

void require_gpus(Meta const& wish, std::string const& who, int children) {
    if (wish.gpu == 0) return;
    auto const there = visible_gpus();
    auto const wanted = static_cast<std::uint64_t>(wish.gpu) * static_cast<std::uint64_t>(children);
    if (wanted <= there.size()) return;
    throw UsageError(text(
        who, " needs ", wanted, " GPU", plural(wanted),
        children > 1 ? text(" (", wish.gpu, " each)") : "", ", but this host provides ",
        there.size(), there.empty() ? "" : text(" (", joined(there), ")"),
        ". Ask for fewer (Meta::gpu), or see CUDA_VISIBLE_DEVICES and the driver (nvidia-smi)"));
}

}  // namespace

void require_possible(Meta const& wish, std::string const& who, int children,
                      std::optional<cpu_set_t> const& among) {
    if (wish.cpu < 0 || wish.gpu < 0)
        throw UsageError(text(who, " asks for ", wish.cpu, " cores and ", wish.gpu,
                              " GPUs (must be at least 0, which asks for nothing)"));
    require_cores(wish, who, among);
    require_memory(wish, who);
    require_gpus(wish, who, children);
}

int room_for(Meta const& wish, int cores) {
    auto room = static_cast<std::uint64_t>(std::max(1, cores));
    if (wish.cpu > 0) room /= static_cast<std::uint64_t>(wish.cpu);
    if (wish.memory_mib > 0) {
        auto const bounds = memory_bounds();
        auto const most = mib(bounds.cgroup.value_or(bounds.host));
        if (most > 0) room = std::min(room, most / wish.memory_mib);
    }
    if (wish.gpu > 0)
        room = std::min(room, visible_gpus().size() / static_cast<std::uint64_t>(wish.gpu));
    return static_cast<int>(std::max<std::uint64_t>(1, room));
}

ResourceReservation::ResourceReservation(Meta const& wish, std::string const& who,
                                         std::optional<cpu_set_t> const& among)
    : ResourceReservation(wish) {  // delegates, so that an exception runs the destructor
    require_possible(wish, who, 1, among);
    take_gpus(who);
    if (wish.memory_mib > 0) group_ = MemoryGroup::make(std::uint64_t{wish.memory_mib} << 20);
    take_cpus(among);
}

ResourceReservation::~ResourceReservation() { release(); }

void ResourceReservation::take_cpus(std::optional<cpu_set_t> const& among) {
    if (wish_.cpu == 0) return;
    auto& users = Ledger::instance().users;
    auto there = locate(among ? *among : own_cpus());
    for (auto& cpu : there) cpu.users = users[cpu.number];
    numbers_ = choose_cpus(there, wish_.cpu);
    CPU_ZERO(&cpus_.emplace());
    for (int const number : numbers_) {
        CPU_SET(number, &*cpus_);
        ++users[number];
    }
}

void ResourceReservation::take_gpus(std::string const& who) {
    auto const wanted = static_cast<std::size_t>(wish_.gpu);
    if (wanted == 0) return;
    auto const there = visible_gpus();
    if (!gpus_.take(there, wanted, who)) {
        auto const& in_use = gpus_.in_use();
        auto const free = there.size() - in_use.size();
        throw Unavailable(text(who, " needs ", wanted, " GPU", plural(wanted), ", of ",
                               there.size(), " (", joined(there), ") ", free,
                               free == 1 ? " is" : " are", " free: the others are in use by ",
                               holders_of(in_use),
                               ". Wait until one has ended, or ask for fewer (Meta::gpu)"));
    }
    gpu_variables_ = gpu_variables(gpus_.gpus());
}

std::vector<std::string> ResourceReservation::env() const { return gpu_variables_; }

void ResourceReservation::begin(wire::Loop& loop, pid_t pid, std::function<void()> kill) {
    if (wish_.memory_mib == 0 || group_) return;
    statm_ = UniqueFd(::open(text("/proc/", pid, "/statm").c_str(), O_RDONLY | O_CLOEXEC));
    watch_ = loop.every(between_looks, [this, kill = std::move(kill)] { look(kill); });
}

void ResourceReservation::look(std::function<void()> const& kill) {
    auto const has = resident_bytes(statm_.get());
    if (mib(has) <= wish_.memory_mib) return;
    had_ = has;
    kill();
}

std::string ResourceReservation::why_killed(bool ours) const {
    if (had_ != 0)
        return text("it had ", mib(had_), " MiB of memory, and may have ", wish_.memory_mib,
                    ": see Meta::memory_mib");
    if (ours || !group_ || group_->kills() == 0) return "";
    return text("by the kernel, for lack of memory: it may have ", wish_.memory_mib,
                " MiB, see Meta::memory_mib");
}

void ResourceReservation::release() {
    auto& ledger = Ledger::instance();
    watch_ = {};
    for (int const number : std::exchange(numbers_, {})) --ledger.users[number];
    gpus_.release();
    if (group_) ledger.leave(std::move(group_));
}

void remove_left_memory_groups() {
    auto& ledger = Ledger::instance();
    ledger.looking = {};
    for (int look = 0; !ledger.remove_left() && look < 20; ++look) ::usleep(5'000);
}

}  // namespace sinew::process
