// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "collectives/tuning/model.hpp"

namespace sinew::detail {

/// Load and save fitted models of this machine, one text file each under $XDG_CACHE_HOME/sinew (by
/// default ~/.cache/sinew). Failures are ignored: the model is then measured again.
std::optional<collectives::Model> load_model(std::string const& key) noexcept;
void save_model(std::string const& key, collectives::Model const& model) noexcept;

}  // namespace sinew::detail
