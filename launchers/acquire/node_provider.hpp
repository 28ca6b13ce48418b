// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/acquire/request.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// What a provider reports; see state_line. `node` is unique: what replaces a node has another name.
struct ProviderEvents {
    std::function<void()> ready;  ///< the backend has accepted the request
    std::function<void(std::string const& node, std::string const& state,
                       std::string const& reason)>
        state;
    std::function<void(std::string const& why)> failed;  ///< no more nodes will come
    std::function<void()> released;                      ///< all is given back
};

/// Starts the agents of nodes at a backend, replaces those that end, and gives all back. For the
/// loop's thread; no call blocks.
class NodeProvider {
public:
    virtual ~NodeProvider() = default;
    /// Throws Error if the request cannot be met.
    virtual void start() = 0;
    virtual void resize(int count) = 0;
    virtual void joined(std::string const& node) = 0;
    /// The program has lost the link to it: it is ended and replaced, if it is still there.
    virtual void lost(std::string const& node) = 0;
    /// Ends all; `released` follows, after a bounded time.
    virtual void release() = 0;
};

/// A row of the table of providers.
struct ProviderEntry {
    std::string_view backend;
    /// `output_fd`: where the standard output of agents goes; -1: nowhere. Throws UsageError.
    std::unique_ptr<NodeProvider> (*make)(wire::Loop& loop, AcquireRequest const& request,
                                          ProviderEvents events, int output_fd);
};
std::vector<ProviderEntry> const& providers();
/// Throws UsageError, which lists the backends, if there is none of that name.
std::unique_ptr<NodeProvider> make_provider(wire::Loop& loop, AcquireRequest const& request,
                                            ProviderEvents events, int output_fd);

}  // namespace sinew::launch
