// SPDX-License-Identifier: Apache-2.0

#include "launchers/checks/check.hpp"
#include "launchers/checks/facts.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

std::string local_faults() {
    Facts facts;
    facts.shm = look_at_shared_memory();
    facts.interfaces = interfaces();
    std::string words;
    for (auto const checks : {machine_checks(), network_checks()})
        for (auto const& check : checks) {
            if (check.name != "shared memory" && check.name != "interfaces") continue;
            for (auto const& finding : check.run(facts))
                if (finding.severity == Severity::error)
                    words += text(words.empty() ? "" : "; ", finding.found, ": ", finding.remedy);
        }
    return words;
}

}  // namespace sinew::launch
