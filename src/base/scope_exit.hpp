// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace sinew {

/// Calls a function, which must not throw, at the end of its scope, however that ends.
template <class Function>
class ScopeExit {
public:
    explicit ScopeExit(Function function) : function_(std::move(function)) {}
    ScopeExit(ScopeExit const&) = delete;
    ~ScopeExit() { function_(); }

private:
    Function function_;
};

}  // namespace sinew
