// SPDX-License-Identifier: Apache-2.0
//
// A small plan in a scratch directory for tests that damage it, and the checks that then fail.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "codec/scratch_directory.h"
#include "omnibal/codec/files.h"
#include "omnibal/verify/verify.h"
#include "plan/small_plan.h"

namespace omnibal::verify {

/// The small corpus with samples that no pack can hold: for tokens, for vision units, for none.
inline corpus::Corpus corpus_with_rejections() {
  corpus::Corpus corpus = plan::small_corpus();
  corpus.tokens[10] = 5000;
  corpus.vision[20] = 12;
  corpus.tokens[30] = 0;
  corpus.supervised[30] = 0;
  return corpus;
}

class VerifyPlan : public testing::Test {
 protected:
  void SetUp() override { write(); }

  /// The plan without damage.
  void write() {
    static const ScratchDirectory kept;
    static const std::string whole = kept.path() + "/plan";
    if (!std::filesystem::exists(whole)) {
      const corpus::Corpus corpus = corpus_with_rejections();
      const auto plan = plan::plan_small(corpus, plan::small_request());
      ASSERT_TRUE(plan.ok());
      ASSERT_TRUE(plan::write_small(*plan, corpus, whole).ok());
    }
    std::filesystem::remove_all(directory_);
    std::filesystem::copy(whole, directory_);
  }

  std::string detail_of(const std::string& name) {
    const auto verdict = verify_plan(directory_, {.ignore_checksums = true});
    for (const Check& check : verdict->checks) {
      if (check.name == name) return check.detail;
    }
    return "there is no such check";
  }

  /// rejected.jsonl with its line `line` replaced.
  void edit_rejection(std::size_t line, const std::function<void(codec::Json&)>& change) {
    const std::string path = directory_ + "/rejected.jsonl";
    std::istringstream before(*codec::read_file(path));
    std::ostringstream after;
    std::size_t number = 0;
    for (std::string text; std::getline(before, text); ++number) {
      codec::Json json = *codec::parse_json(text, path);
      if (number == line) change(json);
      after << json.dump() << "\n";
    }
    std::ofstream(path) << after.str();
  }

  std::vector<std::string> failed_checks(bool ignore_checksums = true) {
    const auto verdict = verify_plan(directory_, {.ignore_checksums = ignore_checksums});
    std::vector<std::string> names;
    for (const Check& check : verdict->checks) {
      if (!check.ok) names.push_back(check.name);
    }
    return names;
  }

  void edit_document(const std::function<void(codec::Json&)>& change) {
    const std::string path = directory_ + "/plan.json";
    codec::Json document = *codec::read_json(path);
    change(document);
    ASSERT_TRUE(codec::write_json(path, document).ok());
  }

  template <class T>
  void edit_array(const std::string& name, std::size_t dimensions,
                  const std::function<void(std::vector<T>&)>& change) {
    std::vector<std::int64_t> shape;
    std::vector<T> values;
    {
      const auto file = codec::NpyFile::open(directory_ + "/" + name);
      const auto span = file->as<T>(dimensions);
      values.assign(span->begin(), span->end());
      shape = file->shape();
    }
    change(values);
    ASSERT_TRUE(codec::write_npy<T>(directory_ + "/" + name, shape, values).ok());
  }

  ScratchDirectory scratch_;
  std::string directory_ = scratch_.path() + "/plan";
};

}  // namespace omnibal::verify
