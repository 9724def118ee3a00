// SPDX-License-Identifier: Apache-2.0
//
// keep_freed_memory: how a process that trains treats memory that it has freed.
//
//   int main() {
//     keep_freed_memory();   // first of all
//     ...
//
// Not a limit on memory: what is kept is used again.
#pragma once

namespace omnibal::runtime {

/// Freed memory stays with the process: page faults would cost up to a fifth of a step.
void keep_freed_memory();

}  // namespace omnibal::runtime
