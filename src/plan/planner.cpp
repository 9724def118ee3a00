// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/planner.h"

#include <fmt/format.h>

#include "plan/ablation.h"
#include "plan/joint_choice.h"
#include "plan/layout_comparison.h"
#include "plan/model_seconds.h"
#include "plan/pipeline_choice.h"
#include "plan/prediction.h"
#include "plan/schedule_choice.h"
#include "plan/sensitivity_cases.h"
#include "plan/step_order.h"

namespace omnibal::plan {
namespace {

DataPlanOptions data_options(const PlanRequest& request, std::int64_t micro_batches) {
  DataPlanOptions options = request.data;
  steps::StepOptions steps = options.steps.value_or(steps::StepOptions{});
  steps.dp = request.sizes.dp;
  steps.micro_batches = micro_batches;
  steps.seed = options.seed;
  options.steps = steps;
  options.micro_batch = request.micro_batch;
  options.threads = request.threads;
  return options;
}

/// The answer to the request's question about caps.
Result<LimitChoice> caps_for(const corpus::Corpus& corpus, const PlanRequest& request,
                             const Progress& progress, const Plan& plan) {
  if (request.chosen_caps) return *request.chosen_caps;
  const TrainingTarget target{.model_name = plan.model_name,
                              .profile = plan.profile,
                              .cluster = plan.cluster,
                              .sizes = plan.sizes,
                              .schedule = plan.schedule,
                              .chunks = plan.chunks,
                              .memory_bytes = plan.memory_bytes,
                              .global_batch = request.global_batch,
                              .free_links = plan.free_links};
  return choose_limits({.samples = columns(corpus),
                        .target = target,
                        .asked = *request.caps,
                        .method = request.data.method,
                        .micro_batch = request.micro_batch,
                        .window = plan.data_options.steps->window,
                        .seed = plan.data_options.seed,
                        .threads = request.threads},
                       progress);
}

/// Caps that the user left open, and the micro-batches that go with them.
Status choose_caps(const corpus::Corpus& corpus, const PlanRequest& request,
                   const Progress& progress, Plan& plan) {
  OMNIBAL_ASSIGN(LimitChoice choice, caps_for(corpus, request, progress, plan));
  plan.micro_batches = choice.best.micro_batches;
  plan.data_options.steps->micro_batches = plan.micro_batches;
  plan.data_options.limits = choice.limits;
  plan.data_options.caps_by = CapSource::kAuto;
  plan.data_options.choice = std::move(choice);
  return {};
}

/// The same plan with the paper's packer, and with the paper's caps unless the user gave caps.
Plan with_paper_packs(const PlanRequest& request, const Plan& plan) {
  Plan paper;
  paper.data_options = plan.data_options;
  paper.data_options.method = pack::Method::kIsf;
  paper.sizes = plan.sizes;
  paper.profile = plan.profile;
  paper.memory_bytes = plan.memory_bytes;
  paper.micro_batches = plan.micro_batches;
  const std::optional<LimitChoice>& choice = plan.data_options.choice;
  if (choice && choice->paper) {
    paper.micro_batches = request.global_batch / (request.sizes.dp * request.micro_batch);
    paper.data_options.steps->micro_batches = paper.micro_batches;
    paper.data_options.limits =
        request.caps->rules.at(choice->paper->vision_cap, choice->paper->token_cap);
  }
  return paper;
}

/// The plan whose rows the paper's ablation shows: they do not depend on the packer and the caps
/// that a plan chooses. Nothing where that is `plan` itself, or where the paper's caps would hold
/// fewer samples or not fit in memory.
Result<std::optional<Plan>> paper_plan(const corpus::Corpus& corpus, const PlanRequest& request,
                                       const Plan& plan, const Progress& progress) {
  const std::optional<Plan> none;
  const std::optional<LimitChoice>& limits = plan.data_options.choice;
  if (plan.data_options.method == pack::Method::kIsf && !(limits && limits->paper)) return none;
  Plan paper = with_paper_packs(request, plan);
  DataPlanOptions packs_alone = paper.data_options;
  packs_alone.steps.reset();
  OMNIBAL_ASSIGN(paper.data, make_data_plan(corpus, packs_alone, {}, progress));
  OMNIBAL_ASSIGN(const PipelineProblem problem, paper_problem(paper, request.threads));
  const Result<PipelineChoice> choice = choose_pipeline(problem);
  if (!choice || paper.data.admission.rejected.size() > plan.data.admission.rejected.size()) {
    return none;
  }
  paper.cuts = choice->cuts;
  paper.recompute = choice->recompute;
  return std::optional(std::move(paper));
}

Result<std::vector<AblationRow>> ablation_of(const std::optional<Plan>& paper,
                                             const AblationTask& task, const OwnPipeline& own,
                                             const Progress& progress) {
  if (!paper) return make_ablation(task, task, own, progress);
  OMNIBAL_ASSIGN(const PipelineProblem problem, paper_problem(*paper, task.problem.threads));
  const PipelineChoice of_paper = whole_layers(paper->cuts, paper->recompute);
  return make_ablation({task.corpus, *paper, problem, of_paper}, task, own, progress);
}

/// Puts the micro-batches of every step into the order chosen; gives the steps as they were.
steps::StepTable order_steps(const StepPipeline& pipeline, int threads, Plan& plan) {
  DataPlan& data = plan.data;
  steps::StepOptions& options = *plan.data_options.steps;
  std::optional<std::int64_t> first_pack;
  if (plan.data_options.worst_first) first_pack = data.worst->pack;
  OrderedSteps ordered = order_micro_batches({.pipeline = pipeline,
                                              .dealt = *data.steps,
                                              .loads = data.loads,
                                              .forward = data.forward,
                                              .tail = options.tail,
                                              .first_pack = first_pack,
                                              .threads = threads});
  std::swap(*data.steps, ordered.table);
  options.row_order = ordered.later_epochs;
  data.worst =
      worst_pack(data.worst->pack, data.loads, *data.steps, plan.data_options.activation_bytes);
  return std::move(ordered.table);
}

/// The same corpus on ZeRO-3, with the paper's packs beside the plan's.
Result<Zero3Prediction> zero3_of(const corpus::Corpus& corpus, const model::ModelSpec& model,
                                 const PlanRequest& request, const std::optional<Plan>& paper,
                                 const Plan& plan) {
  const DataPlan& paper_data = paper ? paper->data : plan.data;
  return predict_zero3({.model = model,
                        .cluster = plan.cluster,
                        .achieved_flops = *request.zero3_flops,
                        .samples = columns(corpus, plan.data),
                        .accepted = plan.data.admission.accepted,
                        .paper_packs = paper_data.loads,
                        .planned_packs = plan.data.loads,
                        .packs_a_step = static_cast<double>(plan.micro_batches * plan.sizes.dp),
                        .gpus = plan.sizes.gpus(),
                        .global_batch = request.global_batch,
                        .micro_batch = request.micro_batch,
                        .memory_bytes = plan.memory_bytes,
                        .seed = plan.data_options.seed,
                        .window = plan.data_options.steps->window,
                        .threads = request.threads});
}

/// Cuts, recomputation and order of micro-batches for packs and steps that stand, and what explains
/// and predicts them.
Status choose_and_explain(const corpus::Corpus& corpus, const model::ModelSpec& model,
                          const PlanRequest& request, const Progress& progress, Plan& plan) {
  OMNIBAL_ASSIGN(const PipelineProblem one_f_one_b, paper_problem(plan, request.threads));
  OMNIBAL_ASSIGN(const PipelineProblem problem, pipeline_problem(plan, request.threads));
  OMNIBAL_ASSIGN(const OneFOneBChoices choices, one_f_one_b_choices(one_f_one_b, plan));
  OMNIBAL_RETURN_IF_ERROR(choose_own(problem, choices, plan));
  OMNIBAL_ASSIGN(const StepPipeline pipeline, predicted_pipeline(problem, plan));
  if (!pipeline.end.empty()) plan.update = simulate::Reduction::kDistributed;
  const steps::StepTable dealt = order_steps(pipeline, request.threads, plan);
  OMNIBAL_ASSIGN(plan.certificate, certify(plan));
  OMNIBAL_ASSIGN(plan.sensitivity, sensitivity_of(plan, problem, pipeline));
  OMNIBAL_ASSIGN(const std::optional<Plan> paper, paper_plan(corpus, request, plan, progress));
  const AblationTask task{corpus, plan, one_f_one_b, choices.two_steps, &dealt};
  const PipelineChoice joint = choices.joint_row();
  const OwnPipeline own{problem, joint};
  OMNIBAL_ASSIGN(plan.ablation, ablation_of(paper, task, own, progress));
  OMNIBAL_RETURN_IF_ERROR(predict(corpus, model, problem, pipeline, plan));
  if (request.zero3_flops) {
    OMNIBAL_ASSIGN(plan.zero3, zero3_of(corpus, model, request, paper, plan));
  }
  if (!request.layouts.empty()) {
    OMNIBAL_ASSIGN(plan.layouts, compare_layouts({model, request, plan, request.layouts,
                                                  placed_load(corpus, plan)}));
  }
  return {};
}

Status check_trains(const cost::Profile& profile) {
  if (std::ranges::any_of(profile.layers, &cost::LayerProfile::trainable)) return {};
  return Error(ErrorCode::kInvalidArgument, "every part is frozen: nothing would be trained")
      .at_key("--freeze")
      .with_hint("leave out a part, or give it adapters: --lora");
}

/// A measured profile has the tower where and as wide as it was in its run.
Status check_request(const PlanRequest& request) {
  if (!request.profile || request.layouts.empty()) return {};
  return Error(ErrorCode::kInvalidArgument, "a measured profile holds for the layout of its run")
      .at_key("--layout")
      .with_value(std::string(to_string(request.layouts.front())))
      .with_hint("leave --profile out: the other layouts' costs are analytic");
}

}  // namespace

Result<std::int64_t> micro_batches_of(const PlanRequest& request) {
  if (request.sizes.dp > request.global_batch / request.micro_batch) {
    return Error(ErrorCode::kSizesDoNotDivide,
                 fmt::format("dp {} with micro-batches of {} samples needs a larger global batch",
                             request.sizes.dp, request.micro_batch))
        .at_key("--global-batch")
        .with_value(request.global_batch)
        .with_hint("raise --global-batch, or lower --dp or --micro-batch");
  }
  const std::int64_t samples = request.sizes.dp * request.micro_batch;
  if (request.global_batch % samples == 0) return request.global_batch / samples;
  const std::int64_t below = request.global_batch / samples * samples;
  return Error(ErrorCode::kSizesDoNotDivide,
               fmt::format("the global batch is not a multiple of dp x micro-batch = {} x {} = {}",
                           request.sizes.dp, request.micro_batch, samples))
      .at_key("--global-batch")
      .with_value(request.global_batch)
      .with_hint(fmt::format("use {} or {}", below, below + samples));
}

Result<Plan> make_plan(const corpus::Corpus& corpus, const model::ModelSpec& model,
                       const cluster::ClusterSpec& cluster, const PlanRequest& request,
                       const Progress& progress) {
  OMNIBAL_RETURN_IF_ERROR(check_request(request));
  Plan plan;
  plan.model_name = model.name;
  plan.cluster = cluster;
  plan.sizes = request.sizes;
  plan.schedule = request.schedule;
  plan.chunks = request.chunks;
  plan.memory_bytes = request.memory_bytes.value_or(cluster.usable_bytes());
  plan.free_links = request.free_links;
  OMNIBAL_ASSIGN(plan.micro_batches, micro_batches_of(request));
  OMNIBAL_ASSIGN(plan.profile, profile_for(model, cluster, request, request.sizes));
  OMNIBAL_RETURN_IF_ERROR(check_trains(plan.profile));
  plan.data_options = data_options(request, plan.micro_batches);
  if (request.caps) OMNIBAL_RETURN_IF_ERROR(choose_caps(corpus, request, progress, plan));
  if (!request.profile) plan.profile.load = full_pack(plan.data_options.limits);
  plan.data_options.activation_bytes = activation_bytes_of(plan.profile);
  const cost::LinearCost forward = cost::total_forward(plan.profile);
  OMNIBAL_ASSIGN(plan.data, make_data_plan(corpus, plan.data_options, forward, progress));
  OMNIBAL_RETURN_IF_ERROR(choose_and_explain(corpus, model, request, progress, plan));
  return plan;
}

}  // namespace omnibal::plan
