// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace sinew {

/// Base of all exceptions that sinew throws. The types differ by what the caller can do about the
/// error; the text contains the value, the rank, the host and a remedy.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The call is wrong and the program must be corrected. The communicator stays usable, unless the
/// mistake concerns one rank alone (an address, the size of a buffer, a color) and SINEW_CHECK is
/// 0: then the other ranks have already begun the call.
class UsageError : public Error {
public:
    using Error::Error;
};

/// An optional feature is not available here (not built in, or no permission). Use another way.
class Unavailable : public Error {
public:
    using Error::Error;
};

/// A deadline has passed. From a call of a communicator, the text names the ranks that had not
/// arrived, and the communicator is lost.
class Timeout : public Error {
public:
    using Error::Error;
};

/// A rank or process died or gave up. The text names it and its host. A communicator is then lost.
class PeerLost : public Error {
public:
    using Error::Error;
};

/// A system call failed; error_number() is errno.
class SystemError : public Error {
public:
    SystemError(std::string const& what, int error_number)
        : Error(what), error_number_(error_number) {}
    int error_number() const noexcept { return error_number_; }

private:
    int error_number_;
};

/// A library below sinew (MPI, NCCL) reported an error; code() is that library's error code.
class BackendError : public Error {
public:
    BackendError(std::string const& what, int code) : Error(what), code_(code) {}
    int code() const noexcept { return code_; }

private:
    int code_;
};

}  // namespace sinew
