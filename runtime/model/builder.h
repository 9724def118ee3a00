// SPDX-License-Identifier: Apache-2.0
//
// LayerBuilder: makes the parameters of one layer, under their names in files, and notes them.
//
//   LayerBuilder builder(options, layer, stage.parameters);
//   const Norm norm = builder.norm("language_model.model.norm", 896, false, 1e-6);
//   const Linear up = builder.linear_by_output(prefix, 896, 4864, false, builder.divide(4864));
//
// Not initialising: weights come from files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "omnibal/runtime/layers/linear.h"
#include "omnibal/runtime/layers/norm.h"
#include "omnibal/runtime/model/parameter.h"
#include "omnibal/runtime/model/stage.h"

namespace omnibal::runtime {

/// What of a dimension the ranks hold. Undivided: all of it, on each.
struct Division {
  Range held;
  Range owned;
  bool overlaps = false;  // on any rank
};

class LayerBuilder {
 public:
  LayerBuilder(const StageOptions& options, std::int64_t layer, std::vector<Parameter>& into)
      : options_(options), layer_(layer), into_(into) {}

  std::int64_t rank() const { return rank_of(options_.group); }
  std::int64_t ranks() const { return size_of(options_.group); }
  /// Disjoint shares of `total` pieces of `width` indices.
  Division divide(std::int64_t total, std::int64_t width = 1) const;

  /// On every rank.
  at::Tensor whole(std::string name, std::vector<std::int64_t> shape);
  /// Only kept: the loss does not depend on it.
  void kept(std::string name, std::vector<std::int64_t> shape);
  at::Tensor divided(std::string name, std::vector<std::int64_t> shape, std::int64_t dimension,
                     const Division& division);

  /// `prefix`.weight and, if any, .bias.
  Linear linear_by_output(const std::string& prefix, std::int64_t in, std::int64_t out, bool bias,
                          const Division& division);
  Linear linear_by_input(const std::string& prefix, std::int64_t in, std::int64_t out, bool bias,
                         const Division& division);
  Norm norm(const std::string& prefix, std::int64_t width, bool bias, double eps);
  /// The last parameter is another stage's too.
  void mark_tied_copy() { into_.back().tied_copy = true; }
  /// This layer uses a parameter of an earlier one.
  void note_use(std::string_view name);

 private:
  at::Tensor note(Parameter parameter);

  const StageOptions& options_;
  std::int64_t layer_;
  std::vector<Parameter>& into_;
};

}  // namespace omnibal::runtime
