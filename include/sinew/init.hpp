// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sinew {

/// Makes this process ready for Process, Pool, Ring and Manager. Must be the first statement of
/// main():
///
///   int main(int argc, char** argv) {
///       sinew::init(argc, argv);
///       ...
///
/// Child processes run this same program. In a child this call does the child's work and does not
/// return: it ends the process by std::exit, so that buffers are flushed and static objects are
/// destroyed. In any other process it records that it was called and has no other effect.
void init(int argc, char** argv);

}  // namespace sinew
