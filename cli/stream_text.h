// SPDX-License-Identifier: Apache-2.0
//
// What has become of a stream, for people.
#pragma once

#include <string>

#include "omnibal/plan/stream_session.h"

namespace omnibal::cli {

std::string to_text(const plan::StreamSession& session);

}  // namespace omnibal::cli
