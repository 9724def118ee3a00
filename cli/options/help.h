// SPDX-License-Identifier: Apache-2.0
//
// Help pages, the reference in Markdown and shell completion, all made from the flags' tables.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace omnibal::cli {

/// `omnibal --help`: what the program is, its commands.
std::string overview(const std::vector<Command>& commands);

/// `omnibal NAME --help`: a page like a manual's.
std::string help_page(const Command& command);

/// docs/commands.md.
std::string markdown_reference(const std::vector<Command>& commands);

/// A completion script for "bash", "zsh" or "fish"; empty for another shell.
std::string completion_script(const std::string& shell, const std::vector<Command>& commands);

}  // namespace omnibal::cli
