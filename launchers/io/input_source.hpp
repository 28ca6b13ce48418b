// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// Reads standard input of `sinew run`, one piece per call of `want`. Does not change the file's
/// flags, and does not read from a terminal while this process is in its background.
class InputSource {
public:
    /// Called with each piece; an empty piece marks the end.
    using Give = std::function<void(std::string)>;

    InputSource(wire::Loop& loop, int fd, Give give);
    /// Requests one piece, which is given when there is input.
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
