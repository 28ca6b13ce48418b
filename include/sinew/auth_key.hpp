// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace sinew {

/// What a process of another family must know to be let in by a manager (see Manager::connect). Whoever
/// has it can call every object of that manager: give it away by a file that only its user can read
/// (0600), never by arguments or the environment, which others see. Overwritten when it goes.
class AuthKey {
public:
    /// 256 bits from the kernel's generator, as hexadecimal digits.
    static AuthKey random();
    /// Any bytes, at least 16 of them: UsageError. Hard to guess, that is up to who makes them.
    static AuthKey of(std::string_view bytes);
    /// The bytes of a file, without a line break at their end. Throws SystemError, and UsageError for a
    /// file that others than its owner can read, or that is somebody else's.
    static AuthKey from_file(std::string const& path);

    AuthKey(AuthKey const&) = default;
    AuthKey& operator=(AuthKey const&) = default;
    ~AuthKey();

    /// Makes the file, with mode 0600. Throws SystemError, also where there is such a file.
    void save(std::string const& path) const;
    std::string const& bytes() const { return bytes_; }
    friend bool operator==(AuthKey const&, AuthKey const&) = default;

private:
    explicit AuthKey(std::string bytes) : bytes_(std::move(bytes)) {}
    std::string bytes_;
};

}  // namespace sinew
