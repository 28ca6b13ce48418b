// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "collectives/tuning/refinement.hpp"

namespace sinew::collectives {

/// The tuners of a job: communicators whose ranks lie on nodes in the same way share one, so that
/// thousands of communicators cost little. Thread-safe.
class Tuners {
public:
    /// Whether measured calls correct the model.
    struct Tuning {
        enum class Mode : std::uint8_t {
            off,     ///< no
            cache,   ///< those of earlier jobs do
            online,  ///< those of this job do, too
        };
        Mode mode = Mode::off;
        TunedTable known = {};  ///< of communicators whose ranks lie like this:
        Placement placement = {};
    };

    /// Throws UsageError if `forced` names an unknown collective or algorithm.
    Tuners(Model const& model, std::string forced);
    Tuners(Model const& model, std::string forced, Tuning tuning);

    std::shared_ptr<Tuner> at(Placement const& placement);
    /// Returns the corrections for a communicator with this tuner, which must outlive them; null if
    /// nothing corrects the model.
    std::unique_ptr<Refinement> refinement(Tuner const& tuner) const;

private:
    Model model_;
    std::string forced_;
    Tuning tuning_;
    std::mutex mutex_;
    std::map<Placement, std::weak_ptr<Tuner>> known_;  // guarded by mutex_
};

}  // namespace sinew::collectives
