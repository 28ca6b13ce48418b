// SPDX-License-Identifier: Apache-2.0
#include "launchers/io/printer_options.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace sinew::launch {
namespace {

bool same_file(int a, int b) {
    struct ::stat first {
    }, second{};
    return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

}  // namespace

OutputPrinter::Options printer_options(RunOptions const& options) {
    return {.tag = options.tag_output,
            .timestamp = options.timestamp_output,
            .json = options.output == OutputFormat::json,
            .folder = options.output_folder,
            .screen = true,
            .one_place = same_file(STDOUT_FILENO, STDERR_FILENO)};
}

}  // namespace sinew::launch
