// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace sinew::launch {

/// Writes all bytes to a stream of the user. If another process has made it non-blocking, this waits until
/// there is room: whoever reads decides when. Returns 0, or errno.
int write_output(int fd, std::string_view bytes);

}  // namespace sinew::launch
