// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "omnibal/base/parallel.h"
#include "omnibal/codec/atomic_write.h"
#include "omnibal/codec/hash.h"
#include "omnibal/metrics/source_mix.h"
#include "omnibal/plan/plan_directory.h"
#include "sample_line.h"

namespace omnibal::plan {
namespace {

using codec::Json;

codec::DirectoryKind directory_kind() {
  return {std::string(kPlanDocument),
          std::string(kPlanFormat),
          {std::string(kPlanDocument), std::string(kChecksums), "pack_offsets.npy",
           "pack_samples.npy", "pack_load.npy", "supervised.npy", "steps.npy", "sample_vision.npy",
           "sample_tokens.npy", "sample_source.npy", "sample_row.npy", "step_mix.npy",
           "rejected.jsonl", "truncated.jsonl", "profile.json"}};
}

Json whole_document(const PlanFiles& files) {
  Json document = {{"format", kPlanFormat},
                   {"version", kPlanVersion},
                   {"provenance", to_json(files.provenance)},
                   {"corpus", corpus::describe(files.corpus)}};
  document.update(files.document);
  return document;
}

const std::string& source_name(const corpus::Corpus& corpus, std::uint32_t sample) {
  return corpus.sources[corpus.source[sample]].name;
}

std::vector<std::int64_t> supervised_per_pack(const PlanFiles& files) {
  const std::vector<std::uint32_t> cut = pack::cut_column(
      files.corpus.supervised, files.data.admission.truncated, &pack::Truncation::supervised);
  const std::vector<std::uint32_t>& supervised = cut.empty() ? files.corpus.supervised : cut;
  std::vector<std::int64_t> sums;
  sums.reserve(static_cast<std::size_t>(files.data.grouping.packs.size()));
  for (std::int64_t p = 0; p < files.data.grouping.packs.size(); ++p) {
    std::int64_t sum = 0;
    for (const std::uint32_t sample : files.data.grouping.packs.view()[p]) {
      sum += supervised[sample];
    }
    sums.push_back(sum);
  }
  return sums;
}

template <class T>
Status write_column(const std::string& path, const std::vector<T>& values) {
  return codec::write_npy<T>(path, std::array{static_cast<std::int64_t>(values.size())}, values);
}

Status write_step_mix(const PlanFiles& files, const std::string& path) {
  if (files.data.mix->step_totals.empty()) return {};
  const auto num_sources = static_cast<std::int64_t>(files.corpus.sources.size());
  static_assert(sizeof(metrics::SourceTotals) == 3 * sizeof(std::int64_t));
  return codec::write_npy_bytes(
      path, codec::DType::kI8,
      std::array{files.data.steps->num_steps, num_sources, std::int64_t{3}},
      std::as_bytes(std::span(files.data.mix->step_totals)));
}

Status write_packs(const PlanFiles& files, const std::string& path) {
  const std::vector<std::uint32_t>& packed = files.data.grouping.packs.samples;
  return write_column(path, std::vector<std::int64_t>(packed.begin(), packed.end()));
}

Status write_loads(const PlanFiles& files, const std::string& path) {
  static_assert(sizeof(metrics::PackLoad) == 3 * sizeof(std::int64_t));
  return codec::write_npy_bytes(
      path, codec::DType::kI8,
      std::array{static_cast<std::int64_t>(files.data.loads.size()), std::int64_t{3}},
      std::as_bytes(std::span(files.data.loads)));
}

Status write_tokens(const PlanFiles& files, const std::string& path) {
  const std::vector<std::uint32_t> cut =
      pack::cut_column(files.corpus.tokens, files.data.admission.truncated, &pack::Truncation::to);
  return write_column(path, cut.empty() ? files.corpus.tokens : cut);
}

Status write_steps(const PlanFiles& files, const std::string& path) {
  const steps::StepTable& table = *files.data.steps;
  return codec::write_npy<std::int64_t>(
      path, std::array{table.num_steps, table.micro_batches, table.dp}, table.pack_ids);
}

/// Each file by a thread of its own: while one waits for the disk another is made.
Status write_arrays(const PlanFiles& files, const std::string& directory) {
  const auto in = [&directory](const char* name) { return directory + "/" + name; };
  std::vector<std::function<Status()>> writers = {
      [&] { return write_packs(files, in("pack_samples.npy")); },
      [&] { return write_column(in("supervised.npy"), supervised_per_pack(files)); },
      [&] { return write_column(in("pack_offsets.npy"), files.data.grouping.packs.offsets); },
      [&] { return write_loads(files, in("pack_load.npy")); },
      [&] { return write_column(in("sample_vision.npy"), files.corpus.vision); },
      [&] { return write_tokens(files, in("sample_tokens.npy")); },
      [&] { return write_column(in("sample_source.npy"), files.corpus.source); },
      [&] { return write_column(in("sample_row.npy"), files.corpus.row); }};
  if (files.data.steps) {
    writers.emplace_back([&] { return write_step_mix(files, in("step_mix.npy")); });
    writers.emplace_back([&] { return write_steps(files, in("steps.npy")); });
  }
  std::vector<Status> written(writers.size());
  parallel_for_each(writers.size(), files.threads,
                    [&](std::size_t i) { written[i] = writers[i](); });
  for (Status& status : written) OMNIBAL_RETURN_IF_ERROR(std::move(status));
  return {};
}

Status write_rejected(const PlanFiles& files, const std::string& directory) {
  std::string lines;
  for (const pack::Rejection& rejection : files.data.admission.rejected) {
    lines += rejection_line(source_name(files.corpus, rejection.sample),
                            files.corpus.row[rejection.sample], rejection);
  }
  return codec::write_file_atomically(directory + "/rejected.jsonl", lines);
}

Status write_truncated(const PlanFiles& files, const std::string& directory) {
  if (files.data.admission.truncated.empty()) return {};
  std::string lines;
  for (const pack::Truncation& cut : files.data.admission.truncated) {
    lines += sample_line(source_name(files.corpus, cut.sample), files.corpus.row[cut.sample],
                         {{"from", cut.from}, {"to", cut.to}});
  }
  return codec::write_file_atomically(directory + "/truncated.jsonl", lines);
}

/// As `xxhsum -H2` prints it, so that `xxhsum -c checksums.txt` reads it; in order of name.
Status write_checksums(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  std::string lines;
  for (const std::string& name : names) {
    OMNIBAL_ASSIGN(const std::string hash, codec::hash_file(directory + "/" + name));
    lines += fmt::format("{}  {}\n", hash, name);
  }
  return codec::write_file_atomically(fmt::format("{}/{}", directory, kChecksums), lines);
}

}  // namespace

Status write_plan(const PlanFiles& files, const std::string& directory) {
  OMNIBAL_ASSIGN(codec::StagedDirectory staged,
                 codec::StagedDirectory::create(directory, directory_kind()));
  OMNIBAL_RETURN_IF_ERROR(write_arrays(files, staged.path()));
  OMNIBAL_RETURN_IF_ERROR(write_rejected(files, staged.path()));
  OMNIBAL_RETURN_IF_ERROR(write_truncated(files, staged.path()));
  if (files.profile != nullptr) {
    OMNIBAL_RETURN_IF_ERROR(cost::write_profile(*files.profile, staged.path() + "/profile.json"));
  }
  OMNIBAL_RETURN_IF_ERROR(
      codec::write_json(fmt::format("{}/{}", staged.path(), kPlanDocument), whole_document(files)));
  OMNIBAL_RETURN_IF_ERROR(write_checksums(staged.path()));
  return staged.commit();
}

}  // namespace omnibal::plan
