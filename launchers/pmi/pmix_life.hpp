// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "launchers/pmi/pmix_library.hpp"

namespace sinew::launch {

/// The library as a server, started by the first call. It lives on between our servers, in the one
/// folder, since libpmix 4.2 cannot be started again: it aborts the process.
///
/// `security` is PmixServer::Options::security, of the first call. Throws Unavailable without libpmix, UsageError when it runs for another node or folder or has
/// been ended.
std::shared_ptr<PmixLibrary const> running_pmix(std::string const& node, std::string const& folder,
                                                std::string const& security);
/// What that does to this process's variables, if it has not been done yet.
void prepare_pmix_environment(std::string const& security);
/// A rank of a job ended without having taken its leave. From then on neither that job may be
/// deregistered nor the library ended: where a client dies during its connecting, libpmix 4.2 gives up
/// one hold too many on what it knows of that rank, and either call, freeing that again, hangs.
void pmix_client_vanished() noexcept;
/// Ends it for good, or only removes its files where it cannot be ended. Logs what goes wrong.
void end_pmix() noexcept;

}  // namespace sinew::launch
