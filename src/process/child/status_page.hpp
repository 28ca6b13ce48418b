// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/base/system/unique_fd.hpp"
#include "src/process/child/child.hpp"

namespace sinew::process {

/// A status page that a child inherits as a descriptor. Throws SystemError.
class SharedPage {
public:
    SharedPage();
    SharedPage(SharedPage const&) = delete;
    ~SharedPage();
    StatusPage& page() const { return *static_cast<StatusPage*>(at_); }
    int file() const { return file_.get(); }
    /// Closes the descriptor; the mapping stays.
    void close_file() { UniqueFd const unused = std::move(file_); }

private:
    UniqueFd file_;
    void* at_ = nullptr;
};

}  // namespace sinew::process
