// SPDX-License-Identifier: Apache-2.0
#include "cli/options/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/options/common_flags.h"
#include "cli/options/flag_value.h"

namespace omnibal::cli {
namespace {

constexpr std::size_t kWidth = 88;
constexpr std::string_view kExitStatus =
    "0 done; 2 wrong usage; 3 bad input; 4 no feasible answer; 1 anything else";

/// `text` broken at blanks into lines of kWidth, each behind `indent` blanks.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string result;
  std::string line(indent, ' ');
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (line.size() > indent && line.size() + word.size() > kWidth) {
      result += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line.assign(indent, ' ');
    }
    line += word + " ";
    begin = end + 1;
  }
  return result + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string placeholder(const Flag& flag) {
  if (!flag.choices.empty() && flag.value_name.empty()) {
    return fmt::format("{}", fmt::join(flag.choices, "|"));
  }
  return flag.value_name.empty() ? "VALUE" : flag.value_name;
}

std::string signature(const Flag& flag) {
  if (is_switch(flag)) return flag.name;
  if (is_positional(flag)) return flag.name + (takes_many(flag) ? "..." : "");
  return fmt::format("{} {}", flag.name, placeholder(flag));
}

std::string help_sentence(const Flag& flag) {
  std::string text = flag.help;
  if (!flag.choices.empty() && !flag.value_name.empty()) {
    text += fmt::format(": {}", fmt::join(flag.choices, ", "));
  }
  const std::string value = flag_value(flag);
  if (flag.required) {
    if (!is_positional(flag)) text += " (required)";
  } else if (!value.empty()) {
    text += fmt::format(" [default: {}]", value);
  }
  return text + ".";
}

std::string synopsis(const Command& command) {
  std::string text = "omnibal " + command.name;
  for (const Flag& flag : command.flags) {
    if (is_positional(flag))
      text += flag.required ? fmt::format(" {}", signature(flag))
                            : fmt::format(" [{}]", signature(flag));
  }
  for (const Flag& flag : command.flags) {
    if (flag.required && !is_positional(flag)) text += fmt::format(" {}", signature(flag));
  }
  return text + " [flags]";
}

std::string flag_entries(const std::vector<Flag>& flags) {
  std::string text;
  for (const Flag& flag : flags) {
    text += fmt::format("  {}\n{}", signature(flag), wrapped(help_sentence(flag), 6));
  }
  return text;
}

std::string indented(const std::string& lines, std::size_t indent) {
  const std::string blanks(indent, ' ');
  std::string text = blanks;
  for (const char c : lines) {
    text += c;
    if (c == '\n') text += blanks;
  }
  return text + "\n";
}

std::string markdown_flags(const std::vector<Flag>& flags) {
  std::string text = "| flag | meaning |\n|---|---|\n";
  for (const Flag& flag : flags) {
    std::string name = signature(flag);
    for (std::size_t bar = 0; (bar = name.find('|', bar)) != std::string::npos; bar += 2) {
      name.insert(bar, 1, '\\');
    }
    text += fmt::format("| `{}` | {} |\n", name, help_sentence(flag));
  }
  return text;
}

}  // namespace

std::string overview(const std::vector<Command>& commands) {
  std::string text =
      "omnibal: plans the training of vision-language models so that no device waits.\n\n"
      "USAGE\n  omnibal COMMAND INPUT... [flags]\n\nCOMMANDS\n";
  for (const Command& command : commands) {
    text += fmt::format("  {:<11}{}\n", command.name, command.summary);
  }
  CommonOptions common;
  text += "  completion Print a completion script for bash, zsh or fish\n";
  text += fmt::format("\nFLAGS OF EVERY COMMAND\n{}", flag_entries(common_flags(common)));
  text += "  --help\n      Show this page, or a command's.\n  --version\n      Show the version.\n";
  text += fmt::format("\nEXIT STATUS\n  {}\n", kExitStatus);
  return text + "\nomnibal X runs the program omnibal-X for commands that live elsewhere.\n";
}

std::string help_page(const Command& command) {
  CommonOptions common;
  return fmt::format(
      "NAME\n  omnibal {} - {}\n\nSYNOPSIS\n  {}\n\nDESCRIPTION\n{}\nFLAGS\n{}\n"
      "FLAGS OF EVERY COMMAND\n{}\nEXIT STATUS\n  {}\n\nEXAMPLES\n{}",
      command.name, command.summary, synopsis(command), wrapped(command.description, 2),
      flag_entries(command.flags), flag_entries(common_flags(common)), kExitStatus,
      indented(command.example, 2));
}

std::string markdown_reference(const std::vector<Command>& commands) {
  CommonOptions common;
  std::string text = fmt::format(
      "# Commands\n\nMade from the program's own tables by `./dev docs`.\n\n"
      "Exit status: {}.\n\n## Flags of every command\n\n{}",
      kExitStatus, markdown_flags(common_flags(common)));
  for (const Command& command : commands) {
    text += fmt::format("\n## omnibal {}\n\n{}.\n\n    {}\n\n{}\n\n{}\nExamples:\n\n```\n{}\n```\n",
                        command.name, command.summary, synopsis(command), command.description,
                        markdown_flags(command.flags), command.example);
  }
  text +=
      "\n## omnibal completion\n\nPrint a completion script for bash, zsh or fish.\n\n"
      "    omnibal completion bash|zsh|fish\n\nExamples:\n\n```\n"
      "source <(omnibal completion bash)\nomnibal completion fish | source\n```\n";
  return text;
}

}  // namespace omnibal::cli
