// SPDX-License-Identifier: Apache-2.0
#include "collectives/kernels/targets.hpp"

#include <sinew/error.hpp>

#include "collectives/kernels/target_choice.hpp"
#include "src/base/text.hpp"

#include <hwy/highway.h>

namespace sinew::collectives::kernels {

std::vector<std::string> targets() {
    std::vector<std::string> names;
    for (std::int64_t const target : hwy::SupportedAndGeneratedTargets())
        names.emplace_back(hwy::TargetName(target));
    return names;
}

ForcedTarget::ForcedTarget(std::string const& name) {
    std::string known;
    for (std::int64_t const target : hwy::SupportedAndGeneratedTargets()) {
        if (hwy::TargetName(target) == name) {
            hwy::SetSupportedTargetsForTest(target);
            return;
        }
        known += text(known.empty() ? "" : ", ", hwy::TargetName(target));
    }
    throw UsageError(text("kernels for ", name, " cannot run here (there are: ", known,
                          "). Choose one of these"));
}

ForcedTarget::~ForcedTarget() { hwy::SetSupportedTargetsForTest(0); }

}  // namespace sinew::collectives::kernels
