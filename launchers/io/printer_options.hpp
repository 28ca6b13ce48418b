// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/command_line/options.hpp"
#include "launchers/io/output_printer.hpp"

namespace sinew::launch {

/// How `sinew run` shows output on its own standard output and standard error.
OutputPrinter::Options printer_options(RunOptions const& options);

}  // namespace sinew::launch
