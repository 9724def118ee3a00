// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/provenance.h"

#include <fmt/format.h>

#include "omnibal/base/version.h"
#include "omnibal/plan/plan_directory.h"

namespace omnibal::plan {
namespace {

using codec::Json;
using codec::JsonFields;

Json files_json(const std::vector<corpus::InputFile>& files) {
  Json json = Json::array();
  for (const corpus::InputFile& file : files) {
    json.push_back({{"path", file.path}, {"hash", file.hash}});
  }
  return json;
}

std::string text_of(const Json& object, const std::string& key) {
  return object.contains(key) ? object[key].dump() : "nothing";
}

Error stale(const std::string& directory, const std::string& what, const std::string& made,
            const std::string& asked) {
  return Error(ErrorCode::kStalePlan,
               fmt::format("the plan here is stale: it was made with {} {}, asked is {}", what,
                           made, asked))
      .in_file(directory)
      .with_hint("leave --reuse away to replace the plan, or choose another --out");
}

/// Inputs as the sources that they make: where their files lie is no content.
Json sources_of(const Json& inputs) {
  Json names = Json::array();
  for (const Json& text : inputs) {
    const corpus::Input input = corpus::parse_input(text.get<std::string>());
    names.push_back(corpus::source_name(input));
  }
  return names;
}

/// What decides a plan's content.
Json deciding(Json options) {
  if (options.contains("input")) options["input"] = sources_of(options["input"]);
  return options;
}

/// The first key of either object whose value is not the same in both.
Status check_options(const std::string& directory, const Json& made, const Json& asked) {
  for (const Json& object : {asked, made}) {
    for (const auto& [key, value] : object.items()) {
      if (made.contains(key) && asked.contains(key) && made[key] == asked[key]) continue;
      return stale(directory, key, text_of(made, key), text_of(asked, key)).at_key(key);
    }
  }
  return {};
}

Status check_files(const std::string& directory, const Json& made, const Json& asked) {
  for (std::size_t i = 0; i < std::max(made.size(), asked.size()); ++i) {
    if (i >= made.size() || i >= asked.size()) {
      return stale(directory, "a number of files of", fmt::format("{}", made.size()),
                   fmt::format("{}", asked.size()));
    }
    if (made[i]["hash"] == asked[i]["hash"]) continue;
    const std::string path = asked[i]["path"].get<std::string>();
    return stale(directory, fmt::format("{} of content", path), text_of(made[i], "hash"),
                 text_of(asked[i], "hash"))
        .at_key(path);
  }
  return {};
}

}  // namespace

Json to_json(const Provenance& provenance) {
  return {{"tool", fmt::format("omnibal {}", version())},
          {"options", provenance.options},
          {"seed", provenance.seed},
          {"inputs", files_json(provenance.inputs)},
          {"configuration", files_json(provenance.configuration)}};
}

Status check_made_of(const std::string& directory, const Provenance& provenance) {
  const std::string path = fmt::format("{}/{}", directory, kPlanDocument);
  OMNIBAL_ASSIGN(const Json document, codec::read_json(path));
  OMNIBAL_RETURN_IF_ERROR(codec::check_format(document, path, kPlanFormat, kPlanVersion));
  OMNIBAL_ASSIGN(const Json* made, JsonFields(document, path).object("provenance"));
  const JsonFields fields(*made, path, "provenance");
  const Json asked = to_json(provenance);
  OMNIBAL_ASSIGN(const Json* options, fields.object("options"));
  OMNIBAL_RETURN_IF_ERROR(check_options(directory, deciding(*options), deciding(asked["options"])));
  for (const char* key : {"inputs", "configuration"}) {
    OMNIBAL_ASSIGN(const Json* files, fields.array(key));
    OMNIBAL_RETURN_IF_ERROR(check_files(directory, *files, asked[key]));
  }
  return check_options(directory, {{"tool", (*made)["tool"]}, {"seed", (*made)["seed"]}},
                       {{"tool", asked["tool"]}, {"seed", asked["seed"]}});
}

}  // namespace omnibal::plan
