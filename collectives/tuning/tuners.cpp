// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/tuners.hpp"

#include <utility>

namespace sinew::collectives {

Tuners::Tuners(Model const& model, std::string forced) : Tuners(model, std::move(forced), {}) {}

Tuners::Tuners(Model const& model, std::string forced, Tuning tuning)
    : model_(model), forced_(std::move(forced)), tuning_(std::move(tuning)) {
    Tuner const refuses_what_is_wrong(model_, forced_);
}

std::shared_ptr<Tuner> Tuners::at(Placement const& placement) {
    std::lock_guard const lock(mutex_);
    if (auto const found = known_.find(placement); found != known_.end())
        if (auto shared = found->second.lock()) return shared;
    std::erase_if(known_, [](auto const& entry) { return entry.second.expired(); });
    auto fresh = std::make_shared<Tuner>(model_.seen_by(placement), forced_);
    known_[placement] = fresh;
    return fresh;
}

std::unique_ptr<Refinement> Tuners::refinement(Tuner const& tuner) const {
    if (tuning_.mode == Tuning::Mode::off) return nullptr;
    bool const alike = tuner.model().placement == tuning_.placement;
    return std::make_unique<Refinement>(tuner, tuning_.mode == Tuning::Mode::online,
                                        alike ? tuning_.known : TunedTable());
}

}  // namespace sinew::collectives
