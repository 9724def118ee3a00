// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/version.h"

namespace omnibal {

std::string_view version() { return OMNIBAL_VERSION; }

}  // namespace omnibal
