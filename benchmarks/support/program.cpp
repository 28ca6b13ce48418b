// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/program.hpp"

#include <cerrno>
#include <fstream>
#include <iostream>
#include <sinew/error.hpp>
#include <system_error>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

int run_program(char const* name, int (*run)(int argc, char** argv), int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (std::exception const& problem) {
        std::cerr << name << ": " << problem.what() << std::endl;
        return 2;
    }
}

void write_file(std::string const& path, std::string const& contents) {
    errno = 0;
    std::ofstream file(path, std::ios::trunc);
    file << contents;
    if (file.flush()) return;
    int const error = errno != 0 ? errno : EIO;
    throw SystemError(
        text(path, " cannot be written (", std::generic_category().message(error), ")"), error);
}

}  // namespace sinew::bench
