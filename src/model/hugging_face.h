// SPDX-License-Identifier: Apache-2.0
//
// Models described by a Hugging Face config.json, as transformers 5 writes it (and the older
// remote-code form of InternVL). A family a file.
#pragma once

#include <string>

#include "omnibal/model/config_part.h"
#include "omnibal/model/model.h"

namespace omnibal::model {

/// `path`: config.json or the directory that holds it.
Result<ModelSpec> load_hugging_face(const std::string& path);

// By `model_type`; `root` is the whole document, `name` becomes the model's.
Result<ModelSpec> read_internvl(const ConfigPart& root, const std::string& name);
Result<ModelSpec> read_internvl_chat(const ConfigPart& root, const std::string& name);
Result<ModelSpec> read_llava(const ConfigPart& root, const std::string& name);
Result<ModelSpec> read_qwen2_vl(const ConfigPart& root, const std::string& name);
Result<ModelSpec> read_qwen2_5_vl(const ConfigPart& root, const std::string& name);

}  // namespace omnibal::model
