// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace sinew::launch {

/// Whether it may be the name of a job: an RFC 1123 label, that is 1 to 63 lower-case letters,
/// digits and '-', the first and the last of which are no '-'.
bool is_job_name(std::string_view name);
/// A name for a job of this program: the last part of its path, as far as names may have its
/// letters, '-', and 5 random characters: "train-x7k2p".
std::string make_job_name(std::string_view program);

}  // namespace sinew::launch
