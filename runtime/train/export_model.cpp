// SPDX-License-Identifier: Apache-2.0
#include "train/export_model.h"

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "omnibal/codec/atomic_write.h"
#include "omnibal/codec/json.h"
#include "omnibal/runtime/model/weights.h"
#include "train/agreement.h"

namespace omnibal::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModelFormat = "omnibal.exported_model";
constexpr std::string_view kMarker = "omnibal.json";

/// What this rank alone hands in of a parameter.
at::Tensor owned_part(const Parameter& parameter) {
  return parameter.tensor.detach()
      .narrow(parameter.split_dimension, parameter.owned.begin - parameter.held.begin,
              parameter.owned.count)
      .contiguous();
}

bool hands_in(const Parameter& parameter) {
  return !parameter.tied_copy && parameter.owned.count > 0;
}

codec::Json description_of(const std::vector<Parameter>& parameters) {
  codec::Json all = codec::Json::array();
  for (const Parameter& parameter : parameters) {
    if (!hands_in(parameter)) continue;
    all.push_back({{"name", parameter.name},
                   {"dimension", parameter.split_dimension},
                   {"begin", parameter.owned.begin},
                   {"count", parameter.owned.count}});
  }
  return all;
}

/// The whole model, filled part by part.
class WholeModel {
 public:
  WholeModel(const ModelConfig& config, at::ScalarType type)
      : parameters_(describe_parameters(config)) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i].tensor = at::empty(parameters_[i].shape, type);
      index_of_[parameters_[i].name] = i;
    }
  }
  /// Where the described part goes.
  at::Tensor place_of(const codec::Json& part) const {
    return parameters_[index_of_.at(part.at("name").get<std::string>())].tensor.narrow(
        part.at("dimension").get<std::int64_t>(), part.at("begin").get<std::int64_t>(),
        part.at("count").get<std::int64_t>());
  }
  const std::vector<Parameter>& parameters() const { return parameters_; }

 private:
  std::vector<Parameter> parameters_;
  std::map<std::string, std::size_t> index_of_;
};

Status hand_in(const std::vector<Parameter>& parameters, Communicator& model) {
  const std::string text = codec::to_text(description_of(parameters));
  auto size = static_cast<std::int64_t>(text.size());
  OMNIBAL_RETURN_IF_ERROR(model.send(&size, sizeof size, 0, 0).wait());
  OMNIBAL_RETURN_IF_ERROR(model.send(text.data(), text.size(), 0, 0).wait());
  for (const Parameter& parameter : parameters) {
    if (!hands_in(parameter)) continue;
    const at::Tensor part = owned_part(parameter);
    OMNIBAL_RETURN_IF_ERROR(model.send(part.const_data_ptr(), part.nbytes(), 0, 0).wait());
  }
  return {};
}

Status take_from(int rank, const WholeModel& whole, Communicator& model) {
  std::int64_t size = 0;
  OMNIBAL_RETURN_IF_ERROR(model.receive(&size, sizeof size, rank, 0).wait());
  std::string text(static_cast<std::size_t>(size), ' ');
  OMNIBAL_RETURN_IF_ERROR(model.receive(text.data(), text.size(), rank, 0).wait());
  OMNIBAL_ASSIGN(const codec::Json parts, codec::parse_json(text, "another rank's parameters"));
  for (const codec::Json& part : parts) {
    const at::Tensor place = whole.place_of(part);
    at::Tensor received = at::empty(place.sizes(), place.options());
    OMNIBAL_RETURN_IF_ERROR(
        model.receive(received.mutable_data_ptr(), received.nbytes(), rank, 0).wait());
    place.copy_(received);
  }
  return {};
}

/// Everything but weights: configuration, tokenizer, processor.
Result<std::vector<std::string>> files_beside_weights(const std::string& model) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(model, error)) {
    const std::string name = entry.path().filename().string();
    const bool weights =
        name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
    if (entry.is_regular_file() && !weights && name != kMarker) names.push_back(name);
  }
  if (error) return Error(ErrorCode::kFileUnreadable, error.message()).in_file(model);
  std::ranges::sort(names);
  return names;
}

/// An earlier export may hold what this one will, and weights in whatever shards.
codec::DirectoryKind kind_of(const std::string& directory, std::vector<std::string> names) {
  names.emplace_back(kMarker);
  std::error_code none_there;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, none_there)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".safetensors") != std::string::npos) names.push_back(name);
  }
  return {std::string(kMarker), std::string(kModelFormat), std::move(names)};
}

Status write(const Training& training, const WholeModel& whole, const std::string& directory) {
  const std::string& model = training.config.model;
  OMNIBAL_ASSIGN(const std::vector<std::string> names, files_beside_weights(model));
  OMNIBAL_ASSIGN(auto staged, codec::StagedDirectory::create(directory, kind_of(directory, names)));
  for (const std::string& name : names) {
    std::error_code error;
    fs::copy_file(fs::path(model) / name, fs::path(staged.path()) / name, error);
    if (error) return Error(ErrorCode::kWriteFailed, error.message()).in_file(name);
  }
  OMNIBAL_RETURN_IF_ERROR(
      save_parameters(staged.path(), whole.parameters(), type_of(training.config.precision)));
  OMNIBAL_RETURN_IF_ERROR(codec::write_json(
      fmt::format("{}/{}", staged.path(), kMarker),
      {{"format", kModelFormat}, {"version", 1}, {"step", training.optimizer->step()}}));
  return staged.commit();
}

Status gather_and_write(const Training& training, const std::string& directory) {
  const c10::NoGradGuard no_graph;
  const WholeModel whole(training.model, type_of(training.config.precision));
  const codec::Json own = description_of(training.parameters);
  std::size_t next = 0;
  for (const Parameter& parameter : training.parameters) {
    if (hands_in(parameter)) whole.place_of(own[next++]).copy_(owned_part(parameter));
  }
  Communicator& model = *training.groups.model;
  for (int rank = 1; rank < model.size(); ++rank) {
    OMNIBAL_RETURN_IF_ERROR(take_from(rank, whole, model));
  }
  return write(training, whole, directory);
}

}  // namespace

Status export_model(const Training& training, Communicator& world, const std::string& directory) {
  Status own;
  if (world.rank() == 0) {
    own = gather_and_write(training, directory);
  } else if (training.groups.dp->rank() == 0) {
    own = hand_in(training.parameters, *training.groups.model);
  }
  return agree(own, world, "the export of the model");
}

}  // namespace omnibal::runtime
