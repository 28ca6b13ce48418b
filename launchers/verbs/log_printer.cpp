// SPDX-License-Identifier: Apache-2.0
#include "launchers/verbs/log_printer.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>
#include <string_view>

#include "launchers/common/write_output.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

void print_bytes(int fd, std::string_view bytes) {
    if (int const error = write_output(fd, bytes); error != 0)
        throw SystemError(text("standard ", fd == STDOUT_FILENO ? "output" : "error",
                               " cannot be written (", std::strerror(error), ")"),
                          error);
}

}  // namespace

std::string in_units(std::uint64_t bytes) {
    if (bytes < 1024) return text(bytes, " bytes");
    if (bytes < std::uint64_t{10} << 20) return text(bytes >> 10, " KiB");
    return text(bytes >> 20, " MiB");
}

void LogPrinter::output(OutputRecord const& record) {
    printer_.print(record.rank, record.node, record.stream, record.piece(), record.time);
    write();
}

void LogPrinter::skipped(std::uint64_t bytes) {
    report(text("sinew: ", in_units(bytes), " of output were skipped, the reader was too slow"));
}

void LogPrinter::report(std::string const& line) {
    printer_.end_line(OutputStream::err);
    write();
    print_bytes(STDERR_FILENO, line + "\n");
}

void LogPrinter::write() {
    for (auto const& piece : printer_.take())
        print_bytes(piece.target == OutputWrite::Target::out ? STDOUT_FILENO : STDERR_FILENO,
                    piece.bytes);
}

}  // namespace sinew::launch
