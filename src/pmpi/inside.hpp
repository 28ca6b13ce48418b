// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sinew::pmpi {

/// Whether this thread is in a call of MPI that the library itself makes, which may come back
/// through the interposed names.
inline thread_local bool inside = false;

class InsideGuard {
public:
    InsideGuard() : before_(inside) { inside = true; }
    ~InsideGuard() { inside = before_; }
    InsideGuard(InsideGuard const&) = delete;
    InsideGuard& operator=(InsideGuard const&) = delete;

private:
    bool before_;
};

}  // namespace sinew::pmpi
