// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace spillway::output {

/// `text` with every byte that is not part of valid UTF-8 replaced by U+FFFD. Protobuf strings and JSON need
/// it; names come from dumps.
std::string ValidUtf8(std::string_view text);

/// A JSON string literal, quotes included. Control characters, '<' and U+2028/9 are escaped, so that the text
/// may stand inside an HTML script element.
std::string JsonString(std::string_view text);

}  // namespace spillway::output
