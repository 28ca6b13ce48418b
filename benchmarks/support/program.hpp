// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::bench {

/// Implements main() of a benchmark: returns the status of `run`, or prints its exception under
/// `name` and returns 2.
int run_program(char const* name, int (*run)(int argc, char** argv), int argc, char** argv);

/// Throws SystemError if the file cannot be written.
void write_file(std::string const& path, std::string const& contents);

}  // namespace sinew::bench
