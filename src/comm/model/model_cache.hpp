// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/tuning/model.hpp"

namespace sinew::detail {

/// A fitted model, and where and when it was fitted.
struct CachedModel {
    collectives::Model model;
    std::uint64_t topology = 0;  ///< a hash of the nodes, processors and network settings
    std::chrono::sys_seconds fitted{};
};

/// The fitted models of one job layout on this machine, one text file each under
/// $XDG_CACHE_HOME/sinew (by default ~/.cache/sinew). There may be two, because virtual machines
/// place their processors near each other or far apart, from boot to boot. Failures are ignored:
/// the model is then measured again.
class ModelCache {
public:
    static constexpr std::size_t slots = 2;
    static constexpr std::chrono::days longest_age{30};

    /// `key` is part of file names: it has no other characters than cache_word() leaves.
    explicit ModelCache(std::string key) : key_(std::move(key)) {}

    /// Returns the models of this topology that are not older than longest_age nor from the future.
    std::vector<CachedModel> load(std::uint64_t topology,
                                  std::chrono::sys_seconds now) const noexcept;
    /// Saves a model in the place of one that load() would not return, or else of the oldest.
    void save(CachedModel const& fitted) const noexcept;

private:
    std::string name(std::size_t slot) const;

    std::string key_;
};

}  // namespace sinew::detail
