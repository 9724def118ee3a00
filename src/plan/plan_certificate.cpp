// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/plan_certificate.h"

#include "omnibal/plan/model_balance.h"

namespace omnibal::plan {

codec::Json to_json(const PlanCertificate& certificate) {
  return {{"lower_bound_s", certificate.lower_bound_s},
          {"bottleneck_s", certificate.bottleneck_s},
          {"gap", certificate.gap},
          {"proven", certificate.proven},
          {"step_s", certificate.step_s},
          {"cuts", to_json(certificate.cuts)}};
}

}  // namespace omnibal::plan
