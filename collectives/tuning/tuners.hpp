// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "collectives/tuning/tuner.hpp"

namespace sinew::collectives {

/// The tuners of a job: communicators whose ranks lie on nodes in the same way share one, so that
/// thousands of communicators cost little. Thread-safe.
class Tuners {
public:
    /// Throws UsageError if `forced` names an unknown collective or algorithm.
    Tuners(Model const& model, std::string forced);

    std::shared_ptr<Tuner> at(Placement const& placement);

private:
    Model model_;
    std::string forced_;
    std::mutex mutex_;
    std::map<Placement, std::weak_ptr<Tuner>> known_;  // guarded by mutex_
};

}  // namespace sinew::collectives
