// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace sinew {

/// The key that a process of another session must present to connect to a manager; see
/// Manager::connect. A process with the key can call every object of that manager. Pass it on in a
/// file that only its user can read (mode 0600), never in arguments or the environment, which other
/// users can see. The destructor overwrites the bytes.
class AuthKey {
public:
    /// Makes a key of 256 bits from the kernel's random generator, as hexadecimal digits.
    static AuthKey random();
    /// Makes a key of the given bytes. Throws UsageError if there are fewer than 16. The caller is
    /// responsible for bytes that are hard to guess.
    static AuthKey of(std::string_view bytes);
    /// Reads a key of 16 to 4096 bytes from a file, without a line break at the end. Throws
    /// SystemError if the file cannot be read, and UsageError if its size is wrong, if users other
    /// than its owner can read it, or if it belongs to another user.
    static AuthKey from_file(std::string const& path);

    AuthKey(AuthKey const&) = default;
    AuthKey& operator=(AuthKey const&) = default;
    ~AuthKey();

    /// Writes the key to a new file of mode 0600. Throws SystemError, also if the file exists.
    void save(std::string const& path) const;
    std::string const& bytes() const { return bytes_; }
    friend bool operator==(AuthKey const&, AuthKey const&) = default;

private:
    explicit AuthKey(std::string bytes) : bytes_(std::move(bytes)) {}
    std::string bytes_;
};

}  // namespace sinew
