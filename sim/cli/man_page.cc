// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/cli/help.h"
#include "sim/cli/options.h"
#include "sim/cli/session.h"

namespace spillway::cli {
namespace {

/// Text that groff prints as it stands: no request at the start of a line, no hyphen that it may turn into a dash.
std::string Plain(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if (c == '\n') {
      escaped += ' ';
    } else {
      escaped += c;
    }
  }
  const bool request = !escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'');
  return request ? "\\&" + escaped : escaped;
}

/// A string argument of a macro.
std::string Quoted(const std::string& text) {
  std::string escaped;
  for (char c : Plain(text)) escaped += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return "\"" + escaped + "\"";
}

std::string Title(const std::string& page) { return fmt::format(".TH {} 1 \"\" {}\n", Quoted(page), Quoted("spillway " + Version())); }

std::string Options(const std::vector<Option>& options) {
  std::string out;
  for (const Option& option : options) {
    std::string term = option.letter == 0 ? "" : fmt::format("\\fB\\-{}\\fR, ", option.letter);
    term += fmt::format("\\fB\\-\\-{}\\fR", Plain(option.name));
    if (!option.value.empty()) term += fmt::format(" \\fI{}\\fR", Plain(option.value));
    out += fmt::format(".TP\n{}\n{}{}.\n", term, Plain(option.help), option.repeat ? " (repeatable)" : "");
    if (!option.choices.empty() && !option.open) out += Plain(fmt::format("One of {}.", fmt::join(option.choices, ", "))) + "\n";
  }
  return out;
}

std::string Examples(const std::vector<Example>& examples) {
  std::string out = ".SH EXAMPLES\n";
  for (const Example& example : examples) out += fmt::format(".TP\n\\fB{}\\fR\n{}.\n", Plain(example.line), Plain(example.meaning));
  return out;
}

std::string Statuses() {
  std::string out = ".SH EXIT STATUS\n";
  const std::pair<int, const char*> codes[] = {
      {kExitDone, "Done."}, {kExitCheckFailed, "A check or comparison found something."}, {kExitUsage, "The command line is wrong."},
      {kExitBadInput, "A file, configuration or dump is wrong, or a result cannot be written."}, {kExitInternal, "Internal error."},
      {kExitLimit, "A limit was reached (run.max_events), or the program deadlocks; the result is there, but not complete."},
      {kExitInterrupted, "Interrupted."}};
  for (const auto& [code, meaning] : codes) out += fmt::format(".TP\n.B {}\n{}\n", code, Plain(meaning));
  return out;
}

}  // namespace

std::string ManPage(const std::vector<Command>& commands) {
  std::string out = Title("SPILLWAY") + ".SH NAME\nspillway \\- trace\\-driven memory simulator of TPUs\n"
                    ".SH SYNOPSIS\n\\fBspillway\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n";
  out += Plain("Spillway replays the program that XLA compiled for a TPU and shows where its memory time goes. Results go to standard output, "
               "messages to standard error.") + "\n.SH COMMANDS\n";
  for (const Command& command : commands) {
    out += fmt::format(".TP\n\\fBspillway\\-{}\\fR(1)\n{}.\n", Plain(command.name), Plain(command.summary));
  }
  out += ".SH OPTIONS\nOf every command, before or after its name.\n" + Options(GlobalOptions()) + Statuses();
  return out;
}

std::string ManPage(const Command& command) {
  const std::string page = "spillway-" + command.name;
  std::string usage = UsageLine(command);
  std::string out = Title(page) + fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n\\fBspillway\\fR {}\n", Plain(page), Plain(command.summary), Plain(usage));
  if (!command.positionals.empty()) out += ".SH ARGUMENTS\n";
  for (const Positional& positional : command.positionals) {
    out += fmt::format(".TP\n\\fI{}\\fR\n{}.\n", Plain(positional.name), Plain(positional.help));
  }
  if (!command.options.empty()) out += ".SH OPTIONS\n" + Options(command.options);
  if (!command.notes.empty()) out += ".SH NOTES\n";
  for (const std::string& note : command.notes) out += fmt::format("{}\n.PP\n", Plain(note));
  if (!command.examples.empty()) out += Examples(command.examples);
  return out + ".SH SEE ALSO\n\\fBspillway\\fR(1), for options of every command and exit statuses\n";
}

}  // namespace spillway::cli
