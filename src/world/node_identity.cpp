// SPDX-License-Identifier: Apache-2.0
#include "src/world/node_identity.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "src/base/env.hpp"
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
    std::array<char, 65> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0')
        host = {'l', 'o', 'c', 'a', 'l'};
    std::string boot_id;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id);
    struct ::stat shm {};
    auto const device = ::stat("/dev/shm", &shm) == 0 ? shm.st_dev : 0;
    return named(text(host.data(), '|', boot_id, '|', device), host.data());
}

}  // namespace sinew
