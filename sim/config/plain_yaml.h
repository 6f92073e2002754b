// SPDX-License-Identifier: Apache-2.0
// The plain part of YAML that configuration files are written in, read some fifty times faster than by yaml-cpp.
#pragma once

#include <cstddef>
#include <string_view>

namespace YAML {
class EventHandler;
}

namespace spillway::config {

/// Sends the events that yaml-cpp would send for the one document in `text`, or gives up and returns false at
/// anything unusual or wrong: what was sent is then worthless, and yaml-cpp must read the text, with its messages.
/// Plain are: ASCII without tabs; block maps with keys that are words; lists of scalars, flow collections or maps;
/// flow collections in one line; scalars in one line, in quotes only without escapes, and none of them null.
bool ReadPlainYaml(std::string_view text, YAML::EventHandler& events);

}  // namespace spillway::config
