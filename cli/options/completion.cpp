// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options/common_flags.h"
#include "cli/options/flag_value.h"
#include "cli/options/help.h"

namespace omnibal::cli {
namespace {

std::vector<Flag> all_flags(const Command& command, CommonOptions& common) {
  std::vector<Flag> flags;
  for (const Flag& flag : command.flags) {
    if (!is_positional(flag)) flags.push_back(flag);
  }
  for (const Flag& flag : common_flags(common)) flags.push_back(flag);
  return flags;
}

std::vector<std::string> command_names(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return names;
}

/// Words behind a flag with choices, else file names; then flags of the command.
std::string bash_script(const std::vector<Command>& commands) {
  CommonOptions common;
  std::string cases;
  for (const Command& command : commands) {
    std::vector<std::string> names;
    std::string choices;
    for (const Flag& flag : all_flags(command, common)) {
      names.push_back(flag.name);
      if (!flag.choices.empty()) {
        choices +=
            fmt::format("        {}) words=\"{}\" ;;\n", flag.name, fmt::join(flag.choices, " "));
      }
    }
    cases += fmt::format(
        "    {})\n      flags=\"{} --help\"\n      case \"$before\" in\n{}        *) ;;\n"
        "      esac ;;\n",
        command.name, fmt::join(names, " "), choices);
  }
  return fmt::format(
      "# bash completion of omnibal: source <(omnibal completion bash)\n"
      "_omnibal() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" before=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  local flags=\"\" words=\"\"\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"{} completion --help --version\" -- \"$current\"))\n"
      "    return\n  fi\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n{}  esac\n"
      "  if [ -n \"$words\" ]; then COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  elif [[ \"$current\" == -* ]]; then COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n"
      "  else COMPREPLY=($(compgen -f -- \"$current\")); fi\n"
      "}}\ncomplete -o filenames -F _omnibal omnibal\n",
      fmt::join(command_names(commands), " "), cases);
}

/// zsh runs bash completions through its own bridge.
std::string zsh_script(const std::vector<Command>& commands) {
  return "# zsh completion of omnibal: source <(omnibal completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script(commands);
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string fish_script(const std::vector<Command>& commands) {
  CommonOptions common;
  std::string text = "# fish completion of omnibal: omnibal completion fish | source\n";
  for (const Command& command : commands) {
    text += fmt::format("complete -c omnibal -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        quoted(command.summary));
    for (const Flag& flag : all_flags(command, common)) {
      text += fmt::format("complete -c omnibal -n '__fish_seen_subcommand_from {}' -l {} -d {}",
                          command.name, flag.name.substr(2), quoted(flag.help));
      if (!is_switch(flag)) text += " -r";
      if (!flag.choices.empty()) {
        text += fmt::format(" -f -a '{}'", fmt::join(flag.choices, " "));
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const std::string& shell, const std::vector<Command>& commands) {
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  return "";
}

}  // namespace omnibal::cli
