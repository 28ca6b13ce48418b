// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "launchers/pmi/pmix_library.hpp"

namespace sinew::launch {

/// The library as a server, started by the first call. It stays up between PmixServer objects, in
/// the one folder, since libpmix 4.2 cannot be started again: it aborts the process.
///
/// `security` is PmixServer::Options::security; that of the first call holds. Throws Unavailable
/// without libpmix, UsageError if it runs for another node or folder or has been ended.
std::shared_ptr<PmixLibrary const> running_pmix(std::string const& node, std::string const& folder,
                                                std::string const& security);
/// Sets the variables of this process that the library reads; only the first call has an effect.
void prepare_pmix_environment(std::string const& security);
/// Records that a rank has ended without finalizing. From then on neither its job may be
/// deregistered nor the library ended: if a client dies while it connects, libpmix 4.2 drops one
/// reference too many to that rank's data, and either call, which frees the data again, hangs.
void pmix_client_vanished() noexcept;
/// Ends the library for good, or only removes its files if it cannot be ended. Logs errors.
void end_pmix() noexcept;

}  // namespace sinew::launch
