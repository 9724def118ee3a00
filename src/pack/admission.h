// SPDX-License-Identifier: Apache-2.0
//
// Whether a pack can hold a sample at all: one answer for a corpus and for a stream. Private to the
// room.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "omnibal/pack/packs.h"

namespace omnibal::pack {

/// Why no pack can hold the sample, if none can.
std::optional<Rejection> reason_against(std::uint32_t sample, std::int64_t vision,
                                        std::int64_t tokens, const metrics::PackCaps& caps,
                                        bool allow_empty);

/// check_limits, and that empty samples cannot be put into a pack without end.
Status check_admission(const PackLimits& limits, const AdmissionOptions& options);

/// Whether `rejection` ends the work under these options.
bool is_fatal(const Rejection& rejection, const AdmissionOptions& options);

/// What is told then; `row`: of the sample in its corpus or stream.
Error over_long_error(const Rejection& rejection, std::int64_t row);

/// What is told of samples that were all rejected, `first` (if any) before the others; `row`: its.
Error nothing_usable(std::int64_t num_samples, const Rejection* first, std::int64_t row);

/// The sample of too many tokens cut as admit() says, or why it cannot be.
std::variant<Truncation, Rejection> cut_to_fit(std::uint32_t sample,
                                               const metrics::SampleColumns& samples,
                                               const CutColumns& cut,
                                               const metrics::PackCaps& caps);

}  // namespace omnibal::pack
