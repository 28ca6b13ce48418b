// SPDX-License-Identifier: Apache-2.0
#include "src/world/node_identity.hpp"

#include <sys/stat.h>

#include "src/base/env.hpp"
#include "src/base/system/this_host.hpp"
#include "src/base/text.hpp"

namespace sinew {

NodeIdentity NodeIdentity::named(std::string const& key, std::string const& host) {
    NodeIdentity identity;
    key.copy(identity.key.data(), identity.key.size() - 1);
    host.copy(identity.host.data(), identity.host.size() - 1);
    return identity;
}

NodeIdentity NodeIdentity::mine() {
    if (auto const name = env("SINEW_NODE_NAME")) return named(*name, *name);
    auto host = host_name();
    if (host.empty()) host = "local";
    struct ::stat shm {};
    auto const device = ::stat("/dev/shm", &shm) == 0 ? shm.st_dev : 0;
    return named(text(host, '|', boot_id(), '|', device), host);
}

}  // namespace sinew
