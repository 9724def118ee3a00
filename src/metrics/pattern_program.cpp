// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/pattern_program.h"

#include <algorithm>
#include <limits>

namespace omnibal::metrics {
namespace {

using Numbers = std::vector<std::int32_t>;

/// The heaviest pack, from a table of the most weight that any number of vision units (row) and
/// tokens (column) can hold. Single precision: four entries at a time.
class HeaviestPack {
 public:
  explicit HeaviestPack(const PatternProblem& problem)
      : problem_(problem),
        width_(static_cast<std::size_t>(problem.token_cap) + 1),
        table_((static_cast<std::size_t>(problem.vision_cap) + 1) * width_) {}

  /// The weight; pack() then tells what is in it.
  double solve(const std::vector<double>& weights) {
    weights_.assign(weights.begin(), weights.end());
    std::fill(table_.begin(), table_.end(), 0.0F);
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      if (weights_[k] > 0) add_type(problem_.types[k], weights_[k]);
    }
    return static_cast<double>(table_.back());
  }

  /// The smallest of the heaviest packs: what it leaves free is of use to the patterns that follow.
  Numbers pack() const {
    Numbers numbers(weights_.size());
    std::int32_t v = problem_.vision_cap;
    std::int32_t t = problem_.token_cap;
    while (at(v, t) > 0) {
      if (t > 0 && at(v, t - 1) == at(v, t)) {
        --t;
      } else if (v > 0 && at(v - 1, t) == at(v, t)) {
        --v;
      } else {
        const std::size_t k = last_added(v, t);
        ++numbers[k];
        v -= problem_.types[k].vision;
        t -= problem_.types[k].tokens;
      }
    }
    return numbers;
  }

 private:
  float at(std::int32_t v, std::int32_t t) const {
    return table_[static_cast<std::size_t>(v) * width_ + static_cast<std::size_t>(t)];
  }

  void add_type(const PatternType& type, float weight) {
    const auto tokens = static_cast<std::size_t>(type.tokens);
    for (std::int32_t v = type.vision; v <= problem_.vision_cap; ++v) {
      float* to = table_.data() + static_cast<std::size_t>(v) * width_ + tokens;
      const float* from = table_.data() + static_cast<std::size_t>(v - type.vision) * width_;
      if (type.vision == 0) {
        add_in_row(to, from, width_ - tokens, weight);
      } else {
        add_across_rows(to, from, width_ - tokens, weight);
      }
    }
  }
  static void add_across_rows(float* __restrict to, const float* __restrict from, std::size_t n,
                              float weight) {
    for (std::size_t i = 0; i < n; ++i) {
      const float with = from[i] + weight;
      to[i] = with > to[i] ? with : to[i];
    }
  }
  static void add_in_row(float* to, const float* from, std::size_t n, float weight) {
    for (std::size_t i = 0; i < n; ++i) to[i] = std::max(to[i], from[i] + weight);
  }

  /// The type whose sample makes the entry's weight. The heaviest of all rather than the one that
  /// is equal to it, since the order of a sum decides its last bit.
  std::size_t last_added(std::int32_t v, std::int32_t t) const {
    std::size_t best = 0;
    float best_weight = -1;
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      const PatternType& type = problem_.types[k];
      if (weights_[k] <= 0 || type.vision > v || type.tokens > t) continue;
      const float weight = at(v - type.vision, t - type.tokens) + weights_[k];
      if (weight > best_weight) {
        best_weight = weight;
        best = k;
      }
    }
    return best;
  }

  const PatternProblem& problem_;
  std::size_t width_;
  std::vector<float> table_;
  std::vector<float> weights_;
};

/// The basis: as many patterns as types, their copies, and the inverse of their matrix.
class Basis {
 public:
  static constexpr double kPerturbation = 1e-3;

  explicit Basis(const PatternProblem& problem)
      : size_(problem.types.size()), inverse_(size_ * size_) {
    for (std::size_t k = 0; k < size_; ++k) {
      const PatternType& type = problem.types[k];
      const std::int32_t most =
          std::min(type.vision > 0 ? problem.vision_cap / type.vision : problem.token_cap + 1,
                   type.tokens > 0 ? problem.token_cap / type.tokens : problem.vision_cap + 1);
      // Slightly different counts keep copies from being 0, at which pivots go round in circles.
      const double count = static_cast<double>(type.count) +
                           kPerturbation * static_cast<double>(k + 1) / static_cast<double>(size_);
      Pattern pattern{count / most, Numbers(size_)};
      pattern.numbers[k] = most;
      patterns_.push_back(std::move(pattern));
      inverse_[k * size_ + k] = 1.0 / most;
    }
  }

  double packs() const {
    double total = 0;
    for (const Pattern& p : patterns_) total += p.copies;
    return total;
  }

  std::vector<double> weights() const {
    std::vector<double> weights(size_);
    for (std::size_t row = 0; row < size_; ++row) {
      for (std::size_t k = 0; k < size_; ++k) weights[k] += inverse_[row * size_ + k];
    }
    for (double& w : weights) w = std::max(0.0, w);
    return weights;
  }

  /// Brings a pattern in for the one that it drives to 0 first; false if it drives none.
  bool pivot(Numbers numbers) {
    std::vector<double> change(size_);
    for (std::size_t row = 0; row < size_; ++row) {
      for (std::size_t k = 0; k < size_; ++k) {
        if (numbers[k] != 0) change[row] += inverse_[row * size_ + k] * numbers[k];
      }
    }
    constexpr double kNothing = 1e-7;
    std::size_t leaving = size_;
    double copies = std::numeric_limits<double>::max();
    for (std::size_t row = 0; row < size_; ++row) {
      if (change[row] > kNothing && patterns_[row].copies / change[row] < copies) {
        copies = patterns_[row].copies / change[row];
        leaving = row;
      }
    }
    if (leaving == size_) return false;
    exchange(leaving, copies, change);
    patterns_[leaving] = {copies, std::move(numbers)};
    return true;
  }

  std::vector<Pattern> take_patterns() { return std::move(patterns_); }

 private:
  void exchange(std::size_t leaving, double copies, const std::vector<double>& change) {
    double* pivot_row = inverse_.data() + leaving * size_;
    for (std::size_t k = 0; k < size_; ++k) pivot_row[k] /= change[leaving];
    for (std::size_t row = 0; row < size_; ++row) {
      if (row == leaving || change[row] == 0) continue;
      patterns_[row].copies = std::max(0.0, patterns_[row].copies - copies * change[row]);
      double* own = inverse_.data() + row * size_;
      for (std::size_t k = 0; k < size_; ++k) own[k] -= change[row] * pivot_row[k];
    }
  }

  std::size_t size_;
  std::vector<Pattern> patterns_;
  std::vector<double> inverse_;  // [patterns, types]
};

}  // namespace

PatternSolution solve_patterns(const PatternProblem& problem) {
  constexpr double kCloseEnough = 1 + 1e-4;
  Basis basis(problem);
  HeaviestPack heaviest(problem);
  PatternSolution solution;
  double bound = 0;
  for (std::int32_t pivots = 0;; ++pivots) {
    const double packs = basis.packs();
    std::vector<double> weights = basis.weights();
    const double heaviest_weight = heaviest.solve(weights);
    // Weights over the heaviest pack's are feasible, so this many packs are needed (Farley 1990).
    if (packs / heaviest_weight > bound) {
      bound = packs / heaviest_weight;
      solution.weights = std::move(weights);
    }
    const bool optimal = heaviest_weight < kCloseEnough || packs < bound * kCloseEnough;
    if (optimal || pivots == problem.max_pivots || !basis.pivot(heaviest.pack())) break;
  }
  solution.packs = basis.packs();
  solution.patterns = basis.take_patterns();
  return solution;
}

}  // namespace omnibal::metrics
