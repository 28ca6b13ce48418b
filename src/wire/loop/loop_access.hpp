// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/wire/loop/loop.hpp"

namespace sinew::wire {

/// What a handle stands for. `cancel` ends it: no callback begins afterwards. Whoever runs a
/// callback holds the body meanwhile, so that the callback may destroy its own handle.
struct Loop::Handle::Body {
    virtual ~Body() = default;
    virtual void cancel() noexcept = 0;
};

/// Work that is worth collecting: done once when all that is ready has had its turn.
class TurnEnd {
public:
    virtual void turn_ended() = 0;

protected:
    ~TurnEnd() = default;
};

/// What only the sources of this folder may do with a loop.
struct LoopAccess {
    static void at_turn_end(Loop& loop, std::shared_ptr<TurnEnd> work);
};

}  // namespace sinew::wire
