// SPDX-License-Identifier: Apache-2.0
//
// A whole plan for people: what was packed, the ablation, the prediction.
#pragma once

#include <string>

#include "omnibal/plan/planner.h"

namespace omnibal::cli {

/// GPU days with one decimal; three digits where that would hide a short epoch.
std::string days(double gpu_days);

/// `with_explanation`: stages, reasons of the cuts and their sensitivity too.
std::string to_text(const plan::Plan& plan, bool with_explanation);

}  // namespace omnibal::cli
