// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <sinew/error.hpp>

#include "collectives/tuning/tuners.hpp"
#include "src/base/text.hpp"

namespace sinew::detail {

using TuneMode = collectives::Tuners::Tuning::Mode;

inline std::string_view name_of(TuneMode mode) {
    if (mode == TuneMode::off) return "off";
    return mode == TuneMode::cache ? "cache" : "online";
}

/// Reads the value of SINEW_TUNE. Throws UsageError.
inline TuneMode tune_mode(std::string_view word) {
    for (TuneMode const mode : {TuneMode::off, TuneMode::cache, TuneMode::online})
        if (word == name_of(mode)) return mode;
    throw UsageError(text("SINEW_TUNE=", word, " (must be off, cache or online)"));
}

}  // namespace sinew::detail
