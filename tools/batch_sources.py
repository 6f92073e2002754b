#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Groups sources into batches that compile as one translation unit (CMake's unity builds).

Arguments: ROOT MAX_LINES FILE.cc... Prints one line a batch, files separated by '|', batches with one file left out.
Files stay apart when a name that one keeps to itself (anonymous namespace, alias, macro) is a word of the other or of
a header that only the other includes. That is stricter than the language, so what is printed should compile; the few
ways it may not (overloads that become ambiguous) are compile errors, never another meaning of a unique name.
"""
import functools
import pathlib
import re
import sys

NOISE = re.compile(r'//(?! namespace)[^\n]*|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
WORD = re.compile(r"[A-Za-z_]\w*")
ALIAS = re.compile(r"^using (?!namespace)[\w:]*?(\w+)(?: =[^;]*)?;", re.M)
MACRO = re.compile(r"^#define (\w+)", re.M)
PRIVATE = re.compile(r"^namespace \{\n(.*?)^\}\s*// namespace\s*$", re.M | re.S)
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union) (\w+)", re.M)
ENUMERATORS = re.compile(r"^enum(?! class)[^{]*\{([^}]*)\}", re.M | re.S)
# The first name before a bracket, an initialiser or the end of a declaration that starts in column 0.
DECLARED = re.compile(r"^(?=[A-Za-z_])(?!(?:using|struct|class|enum|namespace|static_assert|TEST_CASE)\b)[^\n;={(\[]*?(\w+)\s*(?:\(|\{|=|;|\[)", re.M)
# No batch: they define main, or set macros for headers.
ALONE = re.compile(r"^int (?:sc_)?main\(|CATCH_CONFIG", re.M)


@functools.lru_cache(None)
def read(path):
    return NOISE.sub(lambda m: '""' if m.group(0)[0] in 'R"' else "", path.read_text()) if path.is_file() else ""


@functools.lru_cache(None)
def words(path):
    return frozenset(WORD.findall(read(path)))


def headers(root, path):
    """The project's headers that `path` includes, directly or not."""
    found, queue = set(), [path]
    while queue:
        current = queue.pop()
        if not current.is_file():
            continue
        for name in INCLUDE.findall(current.read_text()):
            header = next((place for place in (root / name, current.parent / name) if place.is_file()), root / name)
            if header not in found:
                found.add(header)
                queue.append(header)
    return found


def declared(path):
    """The names that a header declares in column 0, which is at the scope of a namespace."""
    text = read(path)
    return set(TYPE.findall(text)) | set(DECLARED.findall(text)) | set(ALIAS.findall(text)) | set(MACRO.findall(text))


class Source:
    def __init__(self, root, path):
        text = read(path)
        self.path, self.lines = path, text.count("\n")
        self.alone = bool(ALONE.search(path.read_text()))
        self.aliases = {m.group(1): m.group(0) for m in ALIAS.finditer(text)}
        self.names = set(MACRO.findall(text))
        for body in PRIVATE.findall(text):
            self.names |= set(TYPE.findall(body)) | set(DECLARED.findall(body))
            for enumerators in ENUMERATORS.findall(body):
                self.names |= set(WORD.findall(enumerators))
        self.foreign = set().union(*map(declared, headers(root, path)))

    def hides_from(self, other):
        """Whether a private name of this file means something else in `other`."""
        if self.names & (other.names | other.aliases.keys() | other.foreign):
            return True
        return any(other.aliases.get(name, line) != line for name, line in self.aliases.items())


def main():
    root, limit = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    batches = []
    for source in (Source(root, pathlib.Path(name)) for name in sys.argv[3:]):
        if source.alone:
            continue
        for batch in batches:
            if sum(member.lines for member in batch) + source.lines > limit:
                continue
            if not any(source.hides_from(member) or member.hides_from(source) for member in batch):
                batch.append(source)
                break
        else:
            batches.append([source])
    for batch in batches:
        if len(batch) > 1:
            print("|".join(str(member.path) for member in batch))
    return 0


if __name__ == "__main__":
    sys.exit(main())
