// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sinew::launch {

// The files of a copy that `sinew agent --copy-to` makes, below its folder. The first is the one to
// execute: it starts the third by the second, with the libraries beside the second.
inline constexpr char copy_start[] = "bin/sinew";
inline constexpr char copy_loader[] = "lib/ld.so";
inline constexpr char copy_command[] = "libexec/sinew";
inline constexpr char copy_libraries[] = "lib";

}  // namespace sinew::launch
