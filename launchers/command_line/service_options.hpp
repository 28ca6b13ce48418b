// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::launch {

/// The options of `sinew run` that only the backend service has: jobs of a `sinew serve`.
struct ServiceOptions {
    std::string at;        ///< hosts and names of services, by commas; empty: not given
    std::string key;       ///< the file with the key; empty: ~/.config/sinew/key
    std::string registry;  ///< HOST[:PORT] of a `sinew registry`; empty: none
    std::string services;  ///< the file of services; empty: ~/.config/sinew/services
    int priority = 0;
    bool keep = false;  ///< the job goes on without this client

    /// The first flag of these that was given; empty: none.
    std::string first_flag;
};

}  // namespace sinew::launch
