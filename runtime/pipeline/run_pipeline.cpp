// SPDX-License-Identifier: Apache-2.0
#include <exception>

#include "omnibal/runtime/layers/communicator_group.h"
#include "pipeline/execution.h"

namespace omnibal::runtime {
namespace {

Status run_caught(Execution& execution) {
  try {
    return execution.run();
  } catch (const CommunicationFailure& failure) {
    return failure.error();
  } catch (const std::exception& problem) {
    return Error(ErrorCode::kInternal, problem.what());
  }
}

}  // namespace

Result<PipelineReport> run_pipeline(const Pipeline& pipeline, Communicator& pp,
                                    const PipelineCalls& calls) {
  Execution execution(pipeline, pp, calls);
  if (const Status status = run_caught(execution); !status.ok()) {
    pp.fail(status.error());  // transfers under way touch no buffer from here on
    return status.error();
  }
  return execution.report();
}

}  // namespace omnibal::runtime
