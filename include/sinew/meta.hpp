// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace sinew {

/// What a process is to have of its host: a Process, each worker of a Pool, and so on. It gets that,
/// and no more; what the host could never give is refused, with numbers, when it would start.
///
///   sinew::Process p({.meta = {.cpu = 2, .memory_mib = 512}}, sinew::task<consume>, jobs);
///   sinew::Pool pool(4, {.meta = {.gpu = 1}});
///
/// Processes that want 0 of something have what this process has. See docs/resources.md.
struct Meta {
    /// Processors (hardware threads): it is bound to so many of those of this process, the ones that
    /// fewest others of this process's children are bound to. Children share some where together they
    /// want more than there are.
    int cpu = 0;
    /// Of memory, at least 16. Above, it is killed: by the kernel where this process may make a cgroup, else by
    /// this process, which looks every 100 ms. Limits of several may exceed what there is.
    std::size_t memory_mib = 0;
    /// GPUs that no other child of this process gets as long as it lives: its CUDA_VISIBLE_DEVICES.
    int gpu = 0;

    /// It wants anything at all.
    constexpr bool any() const { return cpu != 0 || memory_mib != 0 || gpu != 0; }
    friend bool operator==(Meta const&, Meta const&) = default;
};

/// Of a function: what every process gets that is started for it, unless the Process's or the Pool's
/// own options say something. All workers of a pool are alike: it throws UsageError for a function that
/// wants something else than its first one, or more than PoolOptions::meta. To be specialised beside the function, before it is first used:
///
///   template <> inline constexpr sinew::Meta sinew::meta_of<&simulate> = {.cpu = 2};
///
/// A function object has `static constexpr sinew::Meta meta` instead. A function that is passed as an
/// argument (`pool.map(simulate, xs)`) is known by its type alone, and wants nothing: write
/// `pool.map<simulate>(xs)`, `Process(sinew::task<simulate>, x)`.
template <auto F>
inline constexpr Meta meta_of{};

namespace detail {

template <class F>
concept HasMeta = requires {
    requires std::same_as<std::remove_cv_t<decltype(F::meta)>, Meta>;
};

template <class F>
constexpr Meta meta_for() {
    if constexpr (HasMeta<F>) return F::meta;
    else return {};
}

}  // namespace detail
}  // namespace sinew
