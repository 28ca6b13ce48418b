// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// Standard input of `sinew run`, read piece by piece as it is asked for. Leaves the flags of the
/// file alone, and a terminal too as long as this is not its foreground job.
class InputSource {
public:
    /// An empty piece: the end.
    using Give = std::function<void(std::string)>;

    InputSource(wire::Loop& loop, int fd, Give give);
    /// One piece, when there is one.
    void want();

private:
    void look();
    void read_some();

    wire::Loop& loop_;
    int fd_;
    Give give_;
    bool terminal_, pollable_, wanted_ = false;
    wire::Loop::Handle watch_, later_;
};

}  // namespace sinew::launch
