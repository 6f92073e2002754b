// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace spillway::hlo {

/// Undoes the quotes and C escapes of a string that starts `quoted`; what follows it is ignored.
/// Without a leading quote the text is returned as it is.
std::string Unescape(std::string_view quoted);
/// The text in quotes, with `"`, `\`, newline and control characters escaped.
std::string Quote(std::string_view text);

}  // namespace spillway::hlo
