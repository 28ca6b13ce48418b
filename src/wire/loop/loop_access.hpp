// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/wire/loop/loop.hpp"

namespace sinew::wire {

/// The object behind a handle. After `cancel`, no callback begins. Whoever runs a callback keeps
/// the object alive, so that the callback may destroy its own handle.
struct Loop::Handle::Body {
    virtual ~Body() = default;
    virtual void cancel() noexcept = 0;
};

/// Work that is done once, when all that is ready has had its turn.
class TurnEnd {
public:
    virtual void turn_ended() = 0;

protected:
    ~TurnEnd() = default;
};

/// Parts of a loop for the sources of this folder only.
struct LoopAccess {
    static void at_turn_end(Loop& loop, std::shared_ptr<TurnEnd> work);
};

}  // namespace sinew::wire
