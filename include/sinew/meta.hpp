// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace sinew {

/// The resources of its host that a process gets: a Process, a worker of a Pool, a manager, a
/// member of a Ring. The process gets these and no more. Requests that the host can never meet are
/// refused, with numbers, when the process would start. 0 of a resource means that the process has
/// what this process has. See docs/resources.md.
///
///   sinew::Process p({.meta = {.cpu = 2, .memory_mib = 512}}, sinew::task<consume>, jobs);
///   sinew::Pool pool(4, {.meta = {.gpu = 1}});
struct Meta {
    /// Number of processors (hardware threads). The process is bound to that many processors of
    /// this process, chosen among those with the fewest children. Children share processors if
    /// together they want more than there are.
    int cpu = 0;
    /// Memory limit in MiB, at least 16. Above it the process is killed: by the kernel if this
    /// process may create a cgroup, otherwise by this process, which checks every 100 ms. The
    /// limits of several processes may exceed the host's memory.
    std::size_t memory_mib = 0;
    /// Number of GPUs, named in CUDA_VISIBLE_DEVICES. No other living child of this process has
    /// them.
    int gpu = 0;

    /// Whether any resource is requested.
    constexpr bool any() const { return cpu != 0 || memory_mib != 0 || gpu != 0; }
    friend bool operator==(Meta const&, Meta const&) = default;
};

/// The resources of each process that is started for function F, unless the options of the Process
/// or Pool name some. All workers of a pool are alike: the pool throws UsageError for a function
/// that wants other resources than its first function, or more than PoolOptions::meta. Specialize
/// it beside the function, before its first use:
///
///   template <> inline constexpr sinew::Meta sinew::meta_of<&simulate> = {.cpu = 2};
///
/// A function object has a member `static constexpr sinew::Meta meta` instead. A function passed as
/// an argument (`pool.map(simulate, xs)`) is known by its type alone and gets no resources: write
/// `pool.map<simulate>(xs)` or `Process(sinew::task<simulate>, x)`.
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
