// SPDX-License-Identifier: Apache-2.0
#include "cli/predicted_time.h"

#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/model/model.h"

namespace omnibal::cli {

Result<cost::LinearCost> predicted_forward(const std::string& model_name) {
  OMNIBAL_ASSIGN(const model::ModelSpec model, model::load_model(model_name));
  OMNIBAL_ASSIGN(const cluster::ClusterSpec cluster, cluster::load_cluster("a100-80g"));
  OMNIBAL_ASSIGN(const cost::Profile profile, cost::analytic_profile(model, cluster, {}));
  return cost::total_forward(profile);
}

}  // namespace omnibal::cli
