// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace sinew {

/// This process as a client of the PMIx server that started it. libpmix is loaded when it is made.
///
/// Every wait has a deadline: after it a Timeout names what was not answered. Ends, for the server,
/// with `leave`; a process that does not come so far counts as failed there.
class PmixClient {
public:
    explicit PmixClient(std::chrono::nanoseconds timeout);
    PmixClient(PmixClient const&) = delete;
    PmixClient& operator=(PmixClient const&) = delete;
    ~PmixClient();

    int rank() const { return rank_; }
    int size() const { return size_; }
    /// Ranks of this node; 0: the server does not say.
    int local_size() const { return local_size_; }
    std::string const& job() const { return job_; }

    /// Under this key, for all ranks of the job, from `exchange` on.
    void put(std::string const& key, std::string const& value);
    /// Collective: afterwards each rank can get what the others have put.
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
