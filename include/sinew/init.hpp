// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sinew {

/// The first statement of main() in programs that use Process, Pool, Ring or Manager:
///
///   int main(int argc, char** argv) {
///       sinew::init(argc, argv);
///       ...
///
/// Processes of those run this same program. In them this call does their work and never returns:
/// they end by std::exit, so that what is buffered is written and static objects are destroyed. In a
/// process that somebody else started it remembers the call, and changes nothing.
void init(int argc, char** argv);

}  // namespace sinew
