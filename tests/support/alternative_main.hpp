// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace sinew::testing_support {

/// A replacement for main() that is used if the first argument is `flag`: for tests that run their
/// own program again. Construct it at namespace scope.
class AlternativeMain {
public:
    using Main = int (*)(int argc, char** argv);

    AlternativeMain(char const* flag, Main main) : flag_(flag), main_(main), next_(first_) {
        first_ = this;
    }
    /// Returns null if there is none for this flag.
    static Main find(std::string_view flag) {
        for (auto const* at = first_; at != nullptr; at = at->next_)
            if (at->flag_ == flag) return at->main_;
        return nullptr;
    }

private:
    std::string_view flag_;
    Main main_;
    AlternativeMain const* next_;
    static inline AlternativeMain const* first_ = nullptr;
};

}  // namespace sinew::testing_support
