// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "omnibal/codec/atomic_write.h"
#include "train/agreement.h"
#include "train/state_file.h"

namespace omnibal::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCheckpointFormat = "omnibal.checkpoint";
constexpr std::string_view kDocument = "checkpoint.json";
constexpr std::string_view kPrefix = "step-";
constexpr std::size_t kStepDigits = 8;  // or more

std::string rank_file(const std::string& directory, std::int64_t rank) {
  return fmt::format("{}/rank-{}.safetensors", directory, rank);
}

codec::DirectoryKind kind_of(int num_ranks) {
  codec::DirectoryKind kind{
      std::string(kDocument), std::string(kCheckpointFormat), {std::string(kDocument)}};
  for (int r = 0; r < num_ranks; ++r) kind.files.push_back(rank_file("", r).substr(1));
  return kind;
}

/// As save_checkpoint names them: other folders are the user's own.
bool is_named(std::string_view name) {
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + kStepDigits) return false;
  return name.find_first_not_of("0123456789", kPrefix.size()) == std::string_view::npos;
}

/// Whole checkpoints under `root`, the latest first.
std::vector<std::string> checkpoints_in(const std::string& root) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, ignored)) {
    if (!is_named(entry.path().filename().string())) continue;
    if (fs::exists(entry.path() / kDocument, ignored)) found.push_back(entry.path());
  }
  std::ranges::sort(found, std::greater(), [](const std::string& path) {
    return std::pair(path.size(), path);  // more digits are more steps
  });
  return found;
}

void remove_old(const std::string& root, std::int64_t keep) {
  if (keep == 0) return;
  const std::vector<std::string> all = checkpoints_in(root);
  std::error_code ignored;  // what cannot be removed stays: the new one is in place
  for (std::size_t i = static_cast<std::size_t>(keep); i < all.size(); ++i) {
    fs::remove_all(all[i], ignored);
  }
}

codec::Json document_of(const CheckpointContent& content, int num_ranks) {
  return {{"format", kCheckpointFormat},
          {"version", 1},
          {"step", content.optimizer.step()},
          {"ranks", num_ranks},
          {"trainer", content.trainer}};
}

}  // namespace

Status save_checkpoint(const std::string& root, const CheckpointContent& content,
                       Communicator& world, std::int64_t keep) {
  const std::string target =
      fmt::format("{}/{}{:0{}}", root, kPrefix, content.optimizer.step(), kStepDigits);
  std::optional<codec::StagedDirectory> staged;
  Status own;
  if (world.rank() == 0) {
    auto created = codec::StagedDirectory::create(target, kind_of(world.size()));
    if (created.ok()) {
      staged = *std::move(created);
    } else {
      own = std::move(created).error();
    }
  }
  OMNIBAL_RETURN_IF_ERROR(agree(own, world, "the checkpoint"));
  OMNIBAL_ASSIGN(const std::string folder, share_path(staged ? staged->path() : "", world));
  own = write_state_file(rank_file(folder, world.rank()), content.optimizer, content.parameters);
  OMNIBAL_RETURN_IF_ERROR(agree(own, world, "the checkpoint"));
  if (staged) {
    own = codec::write_json(fmt::format("{}/{}", folder, kDocument),
                            document_of(content, world.size()));
    if (own.ok()) own = staged->commit();
    if (own.ok()) remove_old(root, keep);
  }
  return agree(own, world, "the checkpoint");
}

std::optional<std::string> latest_checkpoint(const std::string& root) {
  const std::vector<std::string> all = checkpoints_in(root);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

Result<CheckpointHead> read_checkpoint_head(const std::string& path) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  const std::string file = fmt::format("{}/{}", path, kDocument);
  OMNIBAL_ASSIGN(const codec::Json document, codec::read_json(file));
  OMNIBAL_RETURN_IF_ERROR(codec::check_format(document, file, kCheckpointFormat, 1));
  const codec::JsonFields fields(document, file);
  CheckpointHead head{.path = path};
  OMNIBAL_ASSIGN(head.step, fields.integer("step", 0, kMany));
  OMNIBAL_ASSIGN(head.num_ranks, fields.integer("ranks", 1, 1 << 20));
  OMNIBAL_ASSIGN(const codec::Json* trainer, fields.object("trainer"));
  head.trainer = *trainer;
  return head;
}

Status load_checkpoint(const CheckpointHead& head, const CheckpointContent& content) {
  std::vector<std::string> paths;
  for (std::int64_t r = 0; r < head.num_ranks; ++r) paths.push_back(rank_file(head.path, r));
  OMNIBAL_ASSIGN(const StateFiles files, StateFiles::open(paths));
  OMNIBAL_RETURN_IF_ERROR(files.fill(content.optimizer, content.parameters));
  content.optimizer.set_step(head.step);
  return content.optimizer.publish_weights();
}

}  // namespace omnibal::runtime
