"""Writes manual pages of programs and of their commands, from their help texts, by help2man.
Usage: manuals.py FOLDER VERSION PROGRAM..., for example man1 0.2.0 bin/znni: man1/znni.1.gz, man1/znni-infer.1.gz."""

import gzip
import pathlib
import re
import subprocess
import sys

# Commands of a program have two spaces in front, and perhaps an alias behind; what wraps has more.
COMMAND = re.compile(r"^  ([a-z][a-z-]*)(?:, [a-z-]+)*  +(\S.*)$", re.MULTILINE)


def output_of(*command):
    """Returns the standard output of a command that must succeed."""
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=100).stdout


def summary(text):
    """Returns how a help text begins, as the line of `apropos`."""
    return re.split(r"[.;:](?=\s|$)| \(", text.strip().splitlines()[0])[0]


def commands(text):
    """Returns [(command, what it does)] of a help text."""
    _, _, listed = text.partition("\nSubcommands:\n")
    return COMMAND.findall(listed.partition("\n\n")[0])


def usage(text, name, command):
    """Returns what stands behind the program's name in a help text. Ends the script if the command is not there."""
    found = re.search(r"^Usage: \S+ (.*)$", text, re.MULTILINE)
    if found is None or (command and found[1].split()[0] != command):
        sys.exit(f"manuals: {name}: its help text has no line 'Usage: PROGRAM {command}...'")
    return found[1]


def page_of(program, command, told, version):
    """Returns the page of a program, or of a command of it, under the name that the program's file has."""
    option = f"{command} --help" if command else "--help"
    page = output_of(
        "help2man",
        "--no-info",
        f"--name={summary(told)}",
        f"--version-string={version}",
        f"--help-option={option}",
        str(program),
    )
    # help2man takes the program's name for the name of the page.
    name = f"{program.name}-{command}" if command else program.name
    words = usage(output_of(program, *option.split()), name, command)
    page = re.sub(r"(?m)^\.TH \S+", f".TH {name.upper()}", page, count=1)
    page = re.sub(r"(?m)^(\.SH NAME\n)\S+", lambda found: found[1] + name, page, count=1)
    synopsis = f".B {program.name}\n{words}\n"
    return re.sub(r"(?ms)^(\.SH SYNOPSIS\n).*?(?=^\.SH )", lambda found: found[1] + synopsis, page, count=1)


def main(folder, version, *programs):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for program in map(pathlib.Path, programs):
        text = output_of(program, "--help")
        for command, told in [("", text), *commands(text)]:
            name = f"{program.name}-{command}" if command else program.name
            page = page_of(program, command, told, version)
            (folder / f"{name}.1.gz").write_bytes(gzip.compress(page.encode(), mtime=0))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: manuals.py FOLDER VERSION PROGRAM...")
    main(*sys.argv[1:])
