// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::bench {

/// main() of a benchmark: the status that `run` returns, or 2, having said what it threw, under its
/// name.
int run_program(char const* name, int (*run)(int argc, char** argv), int argc, char** argv);

/// Throws SystemError where that is not possible.
void write_file(std::string const& path, std::string const& contents);

}  // namespace sinew::bench
