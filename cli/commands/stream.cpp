// SPDX-License-Identifier: Apache-2.0
//
// omnibal stream: packs and steps of samples that arrive without end.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "cli/command.h"
#include "cli/options/data_flags.h"
#include "cli/options/model_flags.h"
#include "cli/stream_text.h"
#include "omnibal/corpus/stream.h"
#include "omnibal/plan/comparison.h"
#include "omnibal/plan/stream_session.h"

namespace omnibal::cli {
namespace {

struct StreamFlags {
  std::string input = "-";
  bool dummy = false;
  PackingFlags packing;
  std::string method = "isf";
  std::int64_t window_samples = pack::StreamPackOptions{}.window_samples;
  std::int64_t cp = 1;
  std::int64_t tp = 1;
  std::int64_t dp = 8;
  std::int64_t micro_batches = 16;
  StepFlags steps;
  plan::StreamFiles files;
};

Result<plan::StreamOptions> options_of(const StreamFlags& flags, const Context& context) {
  if (!flags.packing.vision_cap || !flags.packing.token_cap) {
    return Error(ErrorCode::kInvalidArgument, "a stream needs both caps: its samples are not known")
        .at_key(flags.packing.vision_cap ? "--token-cap" : "--vision-cap")
        .with_hint("`omnibal pack` on a part of the samples chooses caps");
  }
  for (const auto& [key, path] :
       {std::pair{"--out", flags.files.out}, {"--rejected", flags.files.rejected}}) {
    if (!context.json || path != "-") continue;
    return Error(ErrorCode::kInvalidArgument,
                 "with --json standard output carries one object alone")
        .at_key(key)
        .with_hint(fmt::format("write to a file: {} FILE", key));
  }
  OMNIBAL_RETURN_IF_ERROR(check_flags(flags.packing));
  const plan::CapQuestion caps =
      cap_question(flags.packing, pack::token_multiple(flags.cp, flags.tp));
  OMNIBAL_ASSIGN(const plan::DataPlanOptions data,
                 data_plan_options(flags.packing, caps, corpus::Corpus(), context.seed));
  plan::StreamOptions options;
  options.add_dummy = flags.dummy;
  options.packing = {.limits = data.limits,
                     .admission = data.admission,
                     .window_samples = flags.window_samples,
                     .seed = context.seed,
                     .automatic = {.predicted_time = {}, .threads = context.threads}};
  OMNIBAL_ASSIGN(options.packing.method, pack::parse_method(flags.method));
  OMNIBAL_ASSIGN(options.steps, step_options(flags.steps, context.seed));
  options.steps.dp = flags.dp;
  options.steps.micro_batches = flags.micro_batches;
  OMNIBAL_ASSIGN(options.steps.forward, plan::forward_of(plan::kReferenceModel));
  return options;
}

Result<corpus::SampleStream> open_input(const StreamFlags& flags, const Context& context) {
  return corpus::SampleStream::open(corpus::parse_input(flags.input),
                                    {.add_dummy = flags.dummy, .mixture = {.seed = context.seed}},
                                    context.progress);
}

/// Takes every sample of the input; what was taken before an error is saved.
Status take_all(corpus::SampleStream& samples, plan::StreamSession& session) {
  while (true) {
    auto sample = samples.next();
    if (!sample) return session.break_off(std::move(sample).error(), samples.position());
    if (!*sample) return session.close();
    OMNIBAL_RETURN_IF_ERROR(session.take(**sample));
  }
}

Output answer_of(const plan::StreamSession& session, const plan::StreamFiles& files,
                 const Context& context) {
  Output output;
  output.json = session.planner().summary();
  output.json["out"] = files.out;
  const std::string text = to_text(session);
  if (files.out != "-" && files.rejected != "-") {
    output.text = text;
  } else {
    context.note(text);
  }
  return output;
}

Result<Output> run_stream(const StreamFlags& flags, const Context& context) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves is an answer, not the end of us
  OMNIBAL_ASSIGN(const plan::StreamOptions options, options_of(flags, context));
  plan::StreamFiles files = flags.files;
  files.inputs = {corpus::parse_input(flags.input).path};
  OMNIBAL_RETURN_IF_ERROR(check_stream_files(files));
  auto samples = open_input(flags, context);
  // A stream that is resumed may have had its last sample before.
  const bool nothing_new =
      !samples && files.input_continues && samples.error().code == ErrorCode::kEmptyInput;
  if (!samples && !nothing_new) return samples.error();
  if (samples) files.inputs = samples->files();
  OMNIBAL_ASSIGN(plan::StreamSession session, plan::StreamSession::open(options, files));
  if (nothing_new && session.planner().num_samples() == 0) return samples.error();
  if (samples && files.input_continues) samples->continue_at(session.position());
  const Status status = samples ? take_all(*samples, session) : session.close();
  if (!status.ok() && !session.reader_gone()) return status.error();
  if (!status.ok()) {
    context.warn("nobody reads the steps any more: ended before the input did");
  } else if (samples) {
    for (const corpus::Finding& finding : samples->findings()) {
      context.warn(fmt::format("{} x {}, first: {}", finding.count, finding.kind, finding.example));
    }
  }
  return answer_of(session, files, context);
}

std::vector<Flag> input_flags(StreamFlags& flags) {
  return {
      {.name = "INPUT",
       .target = &flags.input,
       .help = "JSON Lines or a list of samples, read as they come, from a file or a pipe; other "
               "corpus forms are read whole; - for stdin"},
      {.name = "--dummy",
       .target = &flags.dummy,
       .help = "Give a text-only sample without vision units a blank one"},
      {.name = "--method",
       .target = &flags.method,
       .help = "The packer of a window",
       .choices = pack::packer_names()},
      {.name = "--window-samples",
       .target = &flags.window_samples,
       .help = "Samples that wait for their pack at once",
       .value_name = "N",
       .min = 1,
       .max = pack::kLargestPackWindow}};
}

/// Those of `pack` that need no sight of the whole corpus.
std::vector<Flag> limit_flags(StreamFlags& flags) {
  std::vector<Flag> table = joined({packing_flags(flags.packing), step_flags(flags.steps)});
  std::erase_if(table, [](const Flag& flag) {
    return flag.name == "--limits" || flag.name == "--micro-batch" || flag.name == "--worst-first";
  });
  // Lengths alone do not tell where a sample could be cut.
  Flag& over_long = *std::ranges::find(table, "--over-long", &Flag::name);
  over_long.choices = {"reject", "error"};
  over_long.help = "A sample above a cap is left out and listed, or ends the command";
  Flag& window = *std::ranges::find(table, "--window", &Flag::name);
  window.min = 1;
  window.help = "Groups of dp packs that may wait for their like when steps are formed";
  return table;
}

std::vector<Flag> parallel_flags(StreamFlags& flags) {
  return joined({padding_flags(&flags.cp, &flags.tp),
                 {{.name = "--dp",
                   .target = &flags.dp,
                   .help = "Data-parallel ranks",
                   .value_name = "N",
                   .min = 1,
                   .max = steps::kLargestStep},
                  micro_batches_flag(&flags.micro_batches)}});
}

std::vector<Flag> file_flags(StreamFlags& flags) {
  return {
      {.name = "--out",
       .target = &flags.files.out,
       .help =
           "Where each step becomes a line of JSON as soon as it is formed; what the file holds is "
           "replaced with the first; - for stdout",
       .value_name = "FILE",
       .required = true},
      {.name = "--rejected",
       .target = &flags.files.rejected,
       .help = "Where each rejected sample becomes a line of JSON",
       .value_name = "FILE"},
      {.name = "--state",
       .target = &flags.files.state,
       .help = "Directory of the state from which the stream can be resumed",
       .value_name = "DIR"},
      {.name = "--save-every",
       .target = &flags.files.save_every,
       .help = "Steps after which the state is saved anew",
       .value_name = "N",
       .min = 1},
      {.name = "--resume",
       .target = &flags.files.resume,
       .help = "Go on from the state; the input begins anew, and what the state knows of it is "
               "compared and passed over"},
      {.name = "--input-continues",
       .target = &flags.files.input_continues,
       .help = "With --resume: the first row of the input is the one the state waits for"}};
}

}  // namespace

Command make_stream_command() {
  auto flags = std::make_shared<StreamFlags>();
  return {
      .name = "stream",
      .summary = "Packs and steps of samples that arrive without end, in bounded memory",
      .description =
          "Reads samples as they come, holds a window of them, and writes each step as soon as "
          "it is formed: the positions of its samples in the stream, pack by pack. Packs that "
          "are not full and packs that have not met others like them wait for what comes next; "
          "the end of the input loses nothing. With --state a killed stream is resumed, and "
          "its steps are those of one that was not.",
      .example =
          "omnibal stream lengths.jsonl --vision-cap 9 --token-cap 4096 --out steps.jsonl\n"
          "tokenize | omnibal stream - --vision-cap 9 --token-cap 4096 --dp 64 --out - | train\n"
          "omnibal stream l.jsonl --vision-cap 9 --token-cap 4096 --out s.jsonl --state state/ "
          "--resume",
      .flags = joined(
          {input_flags(*flags), limit_flags(*flags), parallel_flags(*flags), file_flags(*flags)}),
      .run = [flags](const Context& context) { return run_stream(*flags, context); }};
}

}  // namespace omnibal::cli
