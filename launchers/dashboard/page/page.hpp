// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace sinew::launch::dashboard {

/// A file of the page, as it lies in launchers/dashboard/page. None holds anything of a job.
struct PageFile {
    std::string_view target;  ///< of requests: "/dashboard.js"
    std::string_view type;
    std::string_view bytes;
};

/// All of them. The source is made when sinew is built (embed_page.cmake).
std::span<PageFile const> page_files();

}  // namespace sinew::launch::dashboard
