#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library's binary interface as text, one line per function, constant, type and struct, and what has changed in it.

    scripts/abi.py print [INCLUDE-FOLDER]        the interface that the public headers declare
    scripts/abi.py compare OLD-FILE [FOLDER]     fails if a program built with the old headers would not work any more

Functions, constants and types must stay as they are. A struct may grow at its end if its first field is its own size; others may
not change. tests/data/abi/VERSION.txt holds the interface of each version; tests/unit/abi.sh compares with the last one before this."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ("banyan/banyan.h", "banyan/plan.h")
TIMEOUT_S = 60


def preprocess(folder):
    """The declarations of the public headers, without those of the system's."""
    text = "".join(f"#include <{name}>\n" for name in HEADERS if (folder / name).exists())
    done = subprocess.run(["cc", "-E", "-x", "c", "-std=c11", f"-I{folder}", "-"], input=text, capture_output=True, text=True, check=True,
                          timeout=TIMEOUT_S)
    kept, is_own = [], False
    for line in done.stdout.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            is_own = marker[1].startswith(str(folder))
        elif is_own:
            kept.append(line)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", "", " ".join(kept))
    return re.sub(r"\s+", " ", text).replace("( ", "(").replace(" )", ")").replace("* ", "*")


def statements(text):
    """Top-level declarations; a body in braces is part of its statement."""
    depth, begin = 0, 0
    for i, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if letter == ";" and depth == 0:
            yield text[begin:i].strip()
            begin = i + 1


def constants(body):
    value = -1
    for part in filter(None, map(str.strip, body.split(","))):
        name, _, given = map(str.strip, part.partition("="))
        value = int(given, 0) if given else value + 1
        yield f"constant {name} = {value}"


def describe(statement):
    enum = re.fullmatch(r"(?:typedef )?enum (?:\w+ )?\{(.*)\}\s*(\w*)", statement)
    if enum:
        yield from constants(enum[1])
        if enum[2]:
            yield f"type {enum[2]}: enum"
        return
    struct = re.fullmatch(r"typedef struct (?:\w+ )?\{(.*)\}\s*(\w+)", statement)
    if struct:
        fields = "; ".join(part.strip() for part in struct[1].split(";") if part.strip())
        yield f"struct {struct[2]}: {fields}"
        return
    function = re.fullmatch(r"(?!typedef)(.*?)(\w+)\((.*)\)", statement)
    if function and "{" not in statement:
        yield f"function {function[2]}: {function[1].strip()} ({function[3]})"
    elif statement.startswith("typedef"):
        yield f"type {re.findall(r'[A-Za-z_]+', statement.split('(*')[-1])[0 if '(*' in statement else -1]}: {statement}"


def interface(folder):
    return sorted({line for statement in statements(preprocess(folder)) for line in describe(statement)})


def split(line):
    key, _, rest = line.partition(" = " if line.startswith("constant") else ": ")
    return key, rest


def may_grow(old, new):
    return old.startswith("size_t size") and new.startswith(old + ";")


def compare(old_lines, new_lines):
    new, broken = dict(map(split, new_lines)), []
    for line in old_lines:
        key, was = split(line)
        if key not in new:
            broken.append(f"{key} is gone")
        elif new[key] != was and not (key.startswith("struct") and may_grow(was, new[key])):
            broken.append(f"{key} was '{was}' and is '{new[key]}'")
    return broken


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["print"] and len(arguments) <= 2:
        print("\n".join(interface(pathlib.Path(arguments[1]).resolve() if arguments[1:] else ROOT / "include")))
        return 0
    if arguments[:1] != ["compare"] or len(arguments) not in (2, 3):
        sys.exit(__doc__)
    folder = pathlib.Path(arguments[2]).resolve() if arguments[2:] else ROOT / "include"
    broken = compare(pathlib.Path(arguments[1]).read_text(encoding="utf-8").splitlines(), interface(folder))
    for sentence in broken:
        print(sentence)
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
