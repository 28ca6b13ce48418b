// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace sinew {

/// Base of everything sinew throws. Types differ by what the caller can do about it; the text
/// always carries the value, the rank, the host and a remedy.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The call is wrong: fix the program. A communicator stays usable, unless what is wrong is a rank's
/// own (an address, the room of a buffer, a color) and SINEW_CHECK is 0: the others have gone ahead.
class UsageError : public Error {
public:
    using Error::Error;
};

/// Something optional is absent here (not built in, no permission). Choose another way.
class Unavailable : public Error {
public:
    using Error::Error;
};

/// A deadline passed. The text names the ranks that had not arrived. The communicator is lost.
class Timeout : public Error {
public:
    using Error::Error;
};

/// A rank died or gave up. The text names it and its host. The communicator is lost.
class PeerLost : public Error {
public:
    using Error::Error;
};

/// The operating system refused (errno).
class SystemError : public Error {
public:
    SystemError(std::string const& what, int error_number)
        : Error(what), error_number_(error_number) {}
    int error_number() const noexcept { return error_number_; }

private:
    int error_number_;
};

/// A library beneath (MPI, NCCL) refused; `code` is its own error code.
class BackendError : public Error {
public:
    BackendError(std::string const& what, int code) : Error(what), code_(code) {}
    int code() const noexcept { return code_; }

private:
    int code_;
};

}  // namespace sinew
