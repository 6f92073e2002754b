// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/help.h"
#include "sim/cli/options.h"
#include "sim/cli/session.h"

namespace spillway::cli {
namespace {

ExitCode RunHelp(Session& session, const Arguments& arguments) {
  const bool man = arguments.Get("format") == "man";
  if (arguments.positionals().empty()) {
    session.out.Write(man ? ManPage(Commands()) : GeneralHelp(Commands()));
    return kExitDone;
  }
  const std::string& name = arguments.positionals().front();
  std::vector<std::string> names;
  for (const Command& command : Commands()) {
    if (command.name == name) {
      session.out.Write(man ? ManPage(command) : CommandHelp(command));
      return kExitDone;
    }
    names.push_back(command.name);
  }
  return session.Fail(UnknownWord("command", name, names), kExitUsage);
}

ExitCode RunCompletion(Session& session, const Arguments& arguments) {
  const std::string& shell = arguments.positionals().front();
  session.out.Write(shell == "zsh" ? ZshCompletion(Commands()) : shell == "fish" ? FishCompletion(Commands()) : BashCompletion(Commands()));
  return kExitDone;
}

}  // namespace

Command HelpCommand() {
  Command command;
  command.name = "help";
  command.summary = "explain spillway or one of its commands";
  command.positionals = {
      {"COMMAND", "the command to explain; without it, all are listed", 0, 1, Complete::kCommand}};
  command.options = {{"format", 0, "FORMAT", "text, or a man page", false, Complete::kNothing, {"text", "man"}}};
  command.examples = {{"spillway help run", "the options of run"},
                      {"spillway help run --format man | man -l -", "the same as a man page"}};
  command.run = RunHelp;
  return command;
}

Command CompletionCommand() {
  Command command;
  command.name = "completion";
  command.summary = "print the completion script of a shell";
  command.positionals = {{"SHELL", "the shell: bash, zsh or fish", 1, 1, Complete::kNothing, {"bash", "zsh", "fish"}}};
  command.examples = {{"source <(spillway completion bash)", "complete words in this shell"},
                      {"spillway completion fish | source", "the same in fish"}};
  command.run = RunCompletion;
  return command;
}

}  // namespace spillway::cli
