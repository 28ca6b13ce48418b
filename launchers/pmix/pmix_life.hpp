// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "launchers/pmix/pmix_library.hpp"

namespace sinew::launch {

/// The library as a server, started by the first call. It lives on between our servers, in the one
/// folder, since libpmix 4.2 cannot be started again: it aborts the process.
///
/// Throws Unavailable without libpmix, UsageError when it runs for another node or folder or has
/// been ended.
std::shared_ptr<PmixLibrary const> running_pmix(std::string const& node, std::string const& folder);
/// Ends it for good. Logs what goes wrong.
void end_pmix() noexcept;

}  // namespace sinew::launch
