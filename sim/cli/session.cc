// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include "sim/cli/commands.h"
#include "sim/cli/help.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/options.h"

namespace spillway::cli {
namespace {

Console::Settings SettingsOf(const Arguments& arguments) {
  Console::Settings settings;
  const std::string color = arguments.Get("color", "auto");
  settings.color = color == "always"  ? Console::Color::kAlways
                   : color == "never" ? Console::Color::kNever
                                      : Console::Color::kAuto;
  if (arguments.Has("no-color")) settings.color = Console::Color::kNever;
  settings.quiet = arguments.Has("quiet");
  settings.verbose = arguments.verbose;
  settings.progress = arguments.Get("progress", "auto") != "never";
  return settings;
}

/// For complaints about a command line that cannot be parsed: the wish for no colour still counts.
Console::Settings SettingsBeforeParsing(const std::vector<std::string>& words) {
  Console::Settings settings;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool never = words[i] == "--color" && i + 1 < words.size() && words[i + 1] == "never";
    if (never || words[i] == "--no-color" || words[i] == "--color=never")
      settings.color = Console::Color::kNever;
  }
  return settings;
}

ExitCode RunLine(Session& session, const std::vector<std::string>& words) {
  session.console.Configure(SettingsBeforeParsing(words));
  if (words.empty()) {
    session.console.PrintText(ShortHelp());
    return kExitUsage;
  }
  const Result<ParsedLine> line = ParseLine(words, Commands());
  if (!line.ok()) return session.Fail(line.errors(), kExitUsage);
  const Arguments& arguments = line->arguments;
  session.console.Configure(SettingsOf(arguments));
  if (arguments.Has("help")) {
    session.out.Write(line->command == nullptr ? GeneralHelp(Commands()) : CommandHelp(*line->command));
    return kExitDone;
  }
  if (arguments.Has("version")) {
    session.out.Write(fmt::format("spillway {}\n", Version()));
    return kExitDone;
  }
  if (line->command == nullptr) {
    return session.Fail(Error("no command is given", "'spillway help' lists the commands"), kExitUsage);
  }
  if (arguments.Has("log-file")) {
    const Status opened = session.console.OpenLog(arguments.Get("log-file"));
    if (!opened.ok()) return session.Fail(opened.errors());
  }
  return line->command->run(session, arguments);
}

}  // namespace

bool Session::ResultsInColor() const {
  const Console::Color color = console.settings().color;
  return color == Console::Color::kAlways ||
         (color == Console::Color::kAuto && TerminalTakesColor(STDOUT_FILENO));
}

ExitCode Session::Fail(const Diagnostics& errors, ExitCode code) {
  console.Print(errors);
  return code;
}

ExitCode Session::Fail(const Diagnostic& error, ExitCode code) { return Fail(Diagnostics{error}, code); }

std::string Version() { return SPILLWAY_VERSION; }

int Main(const std::vector<std::string>& words) {
  Session session;
  ExitCode code = kExitInternal;
  try {
    code = RunLine(session, words);
  } catch (const std::bad_alloc&) {
    session.console.Print(Error("out of memory"));
  } catch (const std::exception& e) {
    session.console.Print(Error(fmt::format("internal error: {}", e.what()),
                                "this is a bug in spillway; please report it with the input that shows it"));
  }
  const Status written = session.out.Flush();
  if (!written.ok() && code == kExitDone) return session.Fail(written.errors());
  return code;
}

}  // namespace spillway::cli
