// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "launchers/tree/protocol.hpp"

namespace sinew::launch {

/// The names that ranks have published (MPI_Publish_name) in one epoch of a job.
class Names {
public:
    NameReply answer(NameRequest const& request);
    void clear() { values_.clear(); }

private:
    std::map<std::string, std::string> values_;
};

}  // namespace sinew::launch
