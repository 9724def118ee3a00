// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "omnibal/cluster/cluster.h"

namespace omnibal::cluster {

std::span<const ClusterSpec> known_clusters();

}  // namespace omnibal::cluster
