// SPDX-License-Identifier: Apache-2.0
#include "collectives/kernels/targets.hpp"

#include <atomic>
#include <cstdint>
#include <sinew/error.hpp>

#include "collectives/kernels/dispatch.hpp"
#include "collectives/kernels/target_choice.hpp"
#include "src/base/text.hpp"

#include <hwy/highway.h>
#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace sinew::collectives::kernels {
namespace {

#if HWY_ARCH_X86
/// Returns one CPUID feature bit of ecx. Not all compilers know f16c and lzcnt by name.
bool has(unsigned leaf, unsigned bit) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(leaf, &a, &b, &c, &d) != 0 && (c >> bit & 1U) != 0;
}
bool has_f16c() { return has(1, 29); }
bool has_lzcnt() { return has(0x8000'0001, 5); }

// The builtins also check that the operating system saves the registers.
std::int64_t supported() {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") || !has_f16c() ||
        !has_lzcnt())
        return HWY_STATIC_TARGET;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512cd"))
        return HWY_STATIC_TARGET | HWY_AVX2;
    return HWY_STATIC_TARGET | HWY_AVX2 | HWY_AVX3;
}
#else
std::int64_t supported() { return HWY_STATIC_TARGET; }
#endif

/// Returns the usable targets, best first: Highway's better targets have lower bits.
std::vector<std::int64_t> usable() {
    std::vector<std::int64_t> each;
    for (std::int64_t rest = supported() & HWY_TARGETS; rest != 0; rest &= rest - 1)
        each.push_back(rest & -rest);
    return each;
}

Level level_of(std::int64_t target) {
    return target == HWY_AVX3 ? Level::avx512 : target == HWY_AVX2 ? Level::avx2 : Level::other;
}

std::atomic<Level>& level() {
    static std::atomic<Level> chosen = level_of(usable().front());
    return chosen;
}

}  // namespace

Level chosen_level() { return level().load(std::memory_order_relaxed); }

std::vector<std::string> targets() {
    std::vector<std::string> names;
    for (std::int64_t const target : usable()) names.emplace_back(hwy::TargetName(target));
    return names;
}

ForcedTarget::ForcedTarget(std::string const& name) {
    std::string known;
    for (std::int64_t const target : usable()) {
        if (hwy::TargetName(target) == name) {
            level() = level_of(target);
            return;
        }
        known += text(known.empty() ? "" : ", ", hwy::TargetName(target));
    }
    throw UsageError(text("kernels for ", name, " cannot run here (there are: ", known,
                          "). Choose one of these"));
}

ForcedTarget::~ForcedTarget() { level() = level_of(usable().front()); }

}  // namespace sinew::collectives::kernels
