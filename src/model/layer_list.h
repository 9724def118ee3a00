// SPDX-License-Identifier: Apache-2.0
//
// The layers of a model whose parts are known, in the order of the pipeline.
#pragma once

#include <string>

#include "omnibal/model/model.h"

namespace omnibal::model {

/// Fills `layers` from the parts: vision.0.., projector, token_embedding, llm.0.., head.
ModelSpec assemble(std::string name, VisionTower vision, Projector projector,
                   LanguageModel language);

}  // namespace omnibal::model
