// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/rendezvous/store.h>

#include <map>
#include <sinew/communicator.hpp>
#include <string>
#include <vector>

namespace sinew::bench {

/// Where Gloo's ranks find each other's addresses: what all have set so far is exchanged by an
/// allgatherv of ours when a rank asks for a key it does not have.
///
/// Every rank must ask in the same order relative to what it sets, as Gloo's connectFullMesh does.
class ExchangeStore final : public gloo::rendezvous::Store {
public:
    explicit ExchangeStore(Communicator& comm) : comm_(comm) {}

    void set(std::string const& key, std::vector<char> const& data) override;
    std::vector<char> get(std::string const& key) override;
    void wait(std::vector<std::string> const& keys) override;
    void wait(std::vector<std::string> const& keys, std::chrono::milliseconds const&) override {
        wait(keys);  // an exchange has the deadline of our communicator
    }

private:
    void exchange();

    Communicator& comm_;
    std::map<std::string, std::vector<char>> known_;
    std::vector<char> unsent_;  ///< (length, key, length, data)*
};

}  // namespace sinew::bench
