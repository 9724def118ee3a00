// SPDX-License-Identifier: Apache-2.0
//
// One rank's file of a checkpoint: safetensors of the pieces that the rank owns, "NAME/master",
// "NAME/exp_avg", "NAME/exp_avg_sq", and in the metadata, by NAME, which elements they are.
//
//   OMNIBAL_RETURN_IF_ERROR(write_state_file(path, optimizer, parameters));
//   OMNIBAL_ASSIGN(const StateFiles files, StateFiles::open({"rank-0.safetensors", ...}));
//   OMNIBAL_RETURN_IF_ERROR(files.fill(optimizer, parameters));   // of any layout
//
// Not complete alone: a parameter's elements are spread over the files of several ranks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/runtime/model/parameter.h"
#include "omnibal/runtime/optimizer/optimizer.h"
#include "omnibal/runtime/safetensors/reader.h"

namespace omnibal::runtime {

Status write_state_file(const std::string& path, Optimizer& optimizer,
                        const std::vector<Parameter>& parameters);

/// Elements [begin, begin + size) of a flattened shard, which holds the indices `held` of a
/// dimension of the whole.
struct ShardPiece {
  std::vector<std::int64_t> shape;  // whole
  std::int64_t split_dimension = 0;
  Range held;
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

class StateFiles {
 public:
  static Result<StateFiles> open(const std::vector<std::string>& paths);
  /// Every element of the optimizer's state. Errors: those of load_checkpoint.
  Status fill(Optimizer& optimizer, const std::vector<Parameter>& parameters) const;

 private:
  struct Source {
    ShardPiece piece;
    const TensorFile* file;
  };
  /// The same parameters train as when it was saved: frozen ones are not in it.
  Status check_trained(const std::vector<Parameter>& parameters) const;
  Status fill_piece(const StatePiece& piece, const Parameter& parameter) const;

  std::vector<TensorFile> files_;
  std::map<std::string, std::vector<Source>, std::less<>> sources_;  // by parameter
};

}  // namespace omnibal::runtime
