// SPDX-License-Identifier: Apache-2.0
//
// The realised mix of sources as plan.json tells it: `mix`, and `source_mix` of `steps`
// (docs/formats.md).
//
//   json["mix"] = mix_json(corpus.sources, samples, admission.rejected);
//   json["steps"]["source_mix"] = to_json(metrics::source_mix(entries, packs.view(), samples),
//                                         corpus.sources);
//
// Not for the figures themselves: metrics/source_mix.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/codec/json.h"
#include "omnibal/corpus/corpus.h"
#include "omnibal/metrics/source_mix.h"
#include "omnibal/pack/packs.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::plan {

/// {sources[] {name, weight, given, left_out, repeat, samples, vision_units, tokens, share
/// {samples, vision_units, tokens}, placed {the last four}}}; `repeat` is what came of it: samples
/// / given. Placed is what is not rejected.
codec::Json mix_json(const std::vector<corpus::Source>& sources,
                     const metrics::SourcedSamples& samples,
                     std::span<const pack::Rejection> rejected);

/// Windows of the mix: as many whole steps as the window of step forming spans, at least one; all
/// of them for a window of 0.
metrics::StepEntries mix_entries(const steps::StepTable& table, std::int64_t window);

/// {steps {count, samples, tokens}, windows {steps, count, samples, tokens}, sources[] {name, steps
/// {samples, tokens}, windows {samples, tokens}}}.
codec::Json to_json(const metrics::SourceMix& mix, const metrics::StepEntries& entries,
                    const std::vector<corpus::Source>& sources);

}  // namespace omnibal::plan
