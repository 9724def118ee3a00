// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/train/freed_memory.h"

#include <malloc.h>

#include <climits>

namespace omnibal::runtime {

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace omnibal::runtime
