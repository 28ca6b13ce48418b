// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace sinew {

/// A client of the PMIx server that started this process. The constructor loads libpmix and throws
/// Unavailable if there is none.
///
/// Every request has a deadline: when it passes, `exchange` and `get` throw Timeout, and the
/// constructor BackendError. The server counts a process that ends without `leave` as failed.
class PmixClient {
public:
    explicit PmixClient(std::chrono::nanoseconds timeout);
    PmixClient(PmixClient const&) = delete;
    PmixClient& operator=(PmixClient const&) = delete;
    ~PmixClient();

    int rank() const { return rank_; }
    int size() const { return size_; }
    /// Returns the number of ranks on this node; 0 if the server does not provide it.
    int local_size() const { return local_size_; }
    std::string const& job() const { return job_; }

    /// Publishes a value to all ranks of the job, which can get it after `exchange`.
    void put(std::string const& key, std::string const& value);
    /// Collective; afterwards each rank can get what the others have put.
    void exchange();
    std::string get(int rank, std::string const& key);
    void leave();

private:
    struct Library;
    void require(int status, std::string const& operation) const;

    std::unique_ptr<Library> library_;
    std::chrono::nanoseconds timeout_;
    std::string job_;
    int rank_ = 0, size_ = 0, local_size_ = 0;
};

}  // namespace sinew
