// SPDX-License-Identifier: Apache-2.0
// Texts made from the command table.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/command.h"

namespace spillway::cli {

/// What `spillway` alone prints: what it is, two examples, where to go on.
std::string ShortHelp();
/// What `spillway help` prints: the commands and the options they share.
std::string GeneralHelp(const std::vector<Command>& commands);
/// What `spillway help NAME` prints.
std::string CommandHelp(const Command& command);
/// `run INPUT --chip NAME [OPTIONS]`: one line, without the program's name.
std::string UsageLine(const Command& command);
/// "-o, --output DIR", as help and docs/cli.md write it.
std::string OptionTerm(const Option& option);

/// Completion scripts. Names of workloads, chips and formats are asked of the program when they are needed.
std::string BashCompletion(const std::vector<Command>& commands);
std::string ZshCompletion(const std::vector<Command>& commands);
std::string FishCompletion(const std::vector<Command>& commands);

/// spillway(1), in the man macros of roff; and spillway-NAME(1).
std::string ManPage(const std::vector<Command>& commands);
std::string ManPage(const Command& command);

}  // namespace spillway::cli
